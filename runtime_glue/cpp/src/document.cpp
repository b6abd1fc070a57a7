#include "document.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace shadergen {

const Node* Value::after(const Node* node) { return node + node->nodes; }

const Node* Value::find(const Node* object, const char* member) {
    if (!object || object->kind != Json::object) return nullptr;
    const Node* const end = after(object);
    for (const Node* key = object + 1; key != end;) {
        const Node* const value = after(key);
        if (same(Value(key).text(), member)) return value;
        key = after(value);
    }
    return nullptr;
}

namespace {
constexpr double beyond_int64 = 9223372036854775808.0;
}  // namespace

// What nlohmann::json's parser calls for each token.
class Reader {
public:
    Reader(std::string_view content, Document& document, Error& error)
        : content_(content), document_(document), error_(error) {
        document_.texts_.reserve(
            content.size());  // a text and a zero are shorter than it is written
    }

    bool null() { return add(Json::null); }
    bool boolean(bool value) { return add_integer(Json::boolean, value); }
    bool number_integer(std::int64_t value) { return add_integer(Json::number, value); }
    bool number_unsigned(std::uint64_t value) {
        return value <= INT64_MAX ? add_integer(Json::number, static_cast<std::int64_t>(value))
                                  : number_float(static_cast<double>(value), {});
    }
    bool number_float(double value, const std::string& /*written*/) {
        if (std::floor(value) == value && std::abs(value) < beyond_int64)
            return add_integer(Json::number, static_cast<std::int64_t>(value));
        if (!add(Json::number)) return false;
        document_.nodes_.back().real = value;
        return true;
    }
    bool string(std::string& value) {
        if (!add(Json::text)) return false;
        document_.nodes_.back().text = document_.texts_.data() + document_.texts_.size();
        document_.nodes_.back().count = static_cast<std::uint32_t>(value.size());
        document_.texts_.append(value.c_str(), value.size() + 1);
        return true;
    }
    static bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }
    bool key(std::string& name) {
        if (!string(name)) return false;
        --document_.nodes_[open_.back()].count;  // a member is counted by its value
        return true;
    }
    bool start_object(std::size_t) { return start(Json::object); }
    bool start_array(std::size_t) { return start(Json::array); }
    bool end_array() { return end(); }
    bool end_object() {
        const std::uint32_t opened = open_.back();
        end();
        return !taken_twice(opened);
    }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::json::exception& exception) {
        const std::string_view read = content_.substr(0, position ? position - 1 : 0);
        const auto line = std::count(read.begin(), read.end(), '\n') + 1;
        const std::size_t column = read.size() - (read.rfind('\n') + 1) + 1;
        std::string_view why = exception.what();
        for (const std::string_view lead :
             {"] ", ": "}) {  // [json.exception....] parse error at ...:
            const std::size_t words = why.find(lead);
            if (words != std::string_view::npos) why.remove_prefix(words + lead.size());
        }
        why = why.substr(0, why.find("; last read"));  // which may end in the midst of a character
        locate(error_, "{}: line {}, column {}",
               {schedule_file, static_cast<std::int64_t>(line), column});
        return fail(error_, "SG0503", "{} is not JSON: {}", {schedule_file, why.substr(0, 200)});
    }

private:
    bool add(Json kind) {
        if (document_.nodes_.size() == max_nodes)
            return malformed(error_, "it holds more than {} values", {max_nodes});
        if (!open_.empty()) ++document_.nodes_[open_.back()].count;
        Node node;
        node.kind = kind;
        document_.nodes_.push_back(node);
        return true;
    }
    bool add_integer(Json kind, std::int64_t value) {
        if (!add(kind)) return false;
        document_.nodes_.back().whole = kind == Json::number;
        document_.nodes_.back().integer = value;
        return true;
    }
    bool start(Json kind) {
        if (!add(kind)) return false;
        open_.push_back(static_cast<std::uint32_t>(document_.nodes_.size()) - 1);
        return true;
    }
    bool end() {
        const std::uint32_t opened = open_.back();
        document_.nodes_[opened].nodes =
            static_cast<std::uint32_t>(document_.nodes_.size()) - opened;
        open_.pop_back();
        return true;
    }
    bool taken_twice(std::uint32_t object) {
        List<std::string_view> names;
        const Value closed(&document_.nodes_[object]);
        Value key = closed.first();
        for (std::uint32_t i = 0; i < closed.size(); ++i, key = key.next().next())
            names.push_back(key.text());
        sort(names);
        const std::size_t twice = repeated(names);
        if (twice == names.size()) return false;
        malformed(error_, "the member '{}' is given twice", {names[twice].substr(0, 200)});
        return true;
    }

    std::string_view content_;
    Document& document_;
    Error& error_;
    List<std::uint32_t> open_;
};

bool parse(std::string_view content, Document& document, Error& error) {
    if (!is_utf8(content)) return malformed(error, "{} is not text in UTF-8", {schedule_file});
    if (content.substr(0, 3) == "\xEF\xBB\xBF")
        return malformed(error, "{} is not JSON: it starts with a byte order mark",
                         {schedule_file});
    Reader reader(content, document, error);
    return nlohmann::json::sax_parse(content.begin(), content.end(), &reader);
}

bool check_version(Value root, bool& newer_minor, Error& error) {
    const Value format = root["format"];
    if (!format.is(Json::text) || !same(format.text(), "shadergen")) {
        error.why = R"(it lacks "format": "shadergen")";
        return fail(error, "SG0502", "{} is not a schedule", {schedule_file});
    }
    const Value version = root["version"];
    int numbers[2] = {0, 0};
    int digits[2] = {0, 0};
    int part = 0;
    bool good = version.is(Json::text);
    for (const char c : good ? version.text() : std::string_view()) {
        if (c == '.') {
            good = good && ++part < 2;
        } else {
            good = good && c >= '0' && c <= '9' && ++digits[part] <= 4;
            if (good) numbers[part] = numbers[part] * 10 + (c - '0');
        }
        if (!good) break;
    }
    if (!good || !digits[0] || !digits[1])
        return malformed(error, "the version is not of the form 'major.minor'", {}, "version");
    const auto [major, minor] = numbers;
    newer_minor = minor > format_minor;
    if (major == format_major) return true;
    locate(error, "{}: version", {schedule_file});
    tell(error.why, "this runtime plays version {} (newest known: {}.{})",
         {format_major, format_major, format_minor});
    error.help = major > format_major ? "update shadergen" : "compile the model again";
    return fail(error, "SG0504", "the schedule is of version {}", {version.text()});
}

}  // namespace shadergen
