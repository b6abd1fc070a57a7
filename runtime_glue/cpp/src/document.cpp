#include "document.hpp"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>

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

// Reads strict JSON by recursive descent.
class Reader {
public:
    Reader(std::string_view content, Document& document, Error& error)
        : content_(content), document_(document), error_(error) {
        // a text and a zero are shorter than it is written
        document_.texts_.reserve(content.size());
    }

    bool read() {
        if (!value(0)) return false;
        peek();
        return at_ == content_.size() || unexpected();
    }

private:
    // At the end a zero, which JSON has nowhere.
    char now() const { return at_ < content_.size() ? content_[at_] : '\0'; }
    char peek() {  // what comes after spaces
        while (now() == ' ' || now() == '\n' || now() == '\r' || now() == '\t') ++at_;
        return now();
    }
    bool take(char wanted) {
        if (peek() != wanted) return false;
        ++at_;
        return true;
    }
    bool unexpected() {
        const std::string_view read = content_.substr(0, at_);
        const auto line = std::count(read.begin(), read.end(), '\n') + 1;
        locate(error_, "{}: line {}, column {}",
               {schedule_file, static_cast<std::int64_t>(line), at_ - (read.rfind('\n') + 1) + 1});
        return fail(error_, "SG0503",
                    at_ < content_.size() ? "{} is not JSON: unexpected character"
                                          : "{} is not JSON: it ends too early",
                    {schedule_file});
    }

    Node& node(std::size_t index) { return document_.nodes_[index]; }
    bool value(int depth) {
        constexpr int deepest = 512;
        if (depth > deepest) return malformed(error_, "the JSON is nested too deeply", {});
        if (document_.nodes_.size() == max_nodes)
            return malformed(error_, "it holds more than {} values", {max_nodes});
        const std::size_t index = document_.nodes_.size();
        document_.nodes_.add();
        switch (peek()) {
            case '{': return items(index, Json::object, '}', depth);
            case '[': return items(index, Json::array, ']', depth);
            case '"': return text(node(index));
            case 't': return word(node(index), "true", Json::boolean, 1);
            case 'f': return word(node(index), "false", Json::boolean, 0);
            case 'n': return word(node(index), "null", Json::null, 0);
            default: return number(node(index));
        }
    }
    bool items(std::size_t index, Json kind, char close, int depth) {
        ++at_;
        std::uint32_t count = 0;
        for (bool more = peek() != close; more; more = take(','), ++count) {
            if (kind == Json::object) {
                if (peek() != '"') return unexpected();
                if (!value(depth + 1)) return false;
                if (!take(':')) return unexpected();
            }
            if (!value(depth + 1)) return false;
        }
        if (!take(close)) return unexpected();
        Node& whole = node(index);
        whole.kind = kind, whole.count = count;
        whole.nodes = static_cast<std::uint32_t>(document_.nodes_.size() - index);
        return kind == Json::array || !taken_twice(Value(&whole));
    }
    bool taken_twice(Value object) {
        List<std::string_view> names;
        Value key = object.first();
        for (std::uint32_t i = 0; i < object.size(); ++i, key = key.next().next())
            names.push_back(key.text());
        sort(names);
        const std::size_t twice = repeated(names);
        return twice < names.size() && !malformed(error_, "the member '{}' is given twice",
                                                  {names[twice].substr(0, 200)});
    }
    bool word(Node& to, std::string_view written, Json kind, std::int64_t held) {
        if (content_.substr(at_, written.size()) != written) return unexpected();
        at_ += written.size();
        to.kind = kind, to.integer = held;
        return true;
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    bool digits() {
        const std::size_t first = at_;
        while (is_digit(now())) ++at_;
        return at_ > first;
    }
    bool number(Node& to) {
        constexpr double beyond_int64 = 9223372036854775808.0;
        const std::size_t first = at_;
        if (now() == '-') ++at_;
        const std::size_t leading = at_;
        if (!digits() || (content_[leading] == '0' && at_ - leading > 1)) return unexpected();
        const std::size_t integer = at_;
        if (now() == '.' && (++at_, !digits())) return unexpected();
        if (now() == 'e' || now() == 'E') {
            ++at_;
            if (now() == '+' || now() == '-') ++at_;
            if (!digits()) return unexpected();
        }
        std::string written(content_.substr(first, at_ - first));  // and a zero after it
        std::replace(written.begin(), written.end(), '.', *std::localeconv()->decimal_point);
        const double real = std::strtod(written.c_str(), nullptr);
        if (!std::isfinite(real))
            return malformed(error_, "{} is not a number that JSON allows",
                             {std::string_view(written).substr(0, 200)});
        to.kind = Json::number;
        to.whole = std::floor(real) == real && std::abs(real) < beyond_int64;
        if (!to.whole) to.real = real;
        else if (at_ > integer) to.integer = static_cast<std::int64_t>(real);
        else to.integer = std::strtoll(written.c_str(), nullptr, 10);
        return true;
    }

    bool text(Node& to) {
        std::string& texts = document_.texts_;
        const std::size_t first = texts.size();
        for (++at_; now() != '"'; ++at_) {
            if (static_cast<unsigned char>(now()) < 0x20) return unexpected();
            if (now() != '\\') texts += now();
            else if (!escape(texts)) return false;
        }
        ++at_;
        to.kind = Json::text, to.text = texts.data() + first;
        to.count = static_cast<std::uint32_t>(texts.size() - first);
        texts += '\0';
        return true;
    }
    bool escape(std::string& texts) {
        static constexpr char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        ++at_;
        for (std::size_t i = 0; letters[i]; ++i)
            if (now() == letters[i]) {
                texts += meanings[i];
                return true;
            }
        std::uint32_t character = 0, low = 0;
        if (!unit(character)) return unexpected();
        if (character >= 0xD800 && character < 0xE000) {  // the first half, which needs the second
            ++at_;
            if (character >= 0xDC00 || now() != '\\' || (++at_, !unit(low)) || low < 0xDC00 ||
                low >= 0xE000)
                return malformed(error_, "a string has an unpaired surrogate", {});
            character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
        }
        const auto more = [&](std::uint32_t shift) {
            texts += static_cast<char>(0x80 | (character >> shift & 0x3F));
        };
        if (character < 0x80) texts += static_cast<char>(character);
        else if (character < 0x800) texts += static_cast<char>(0xC0 | character >> 6), more(0);
        else if (character < 0x10000)
            texts += static_cast<char>(0xE0 | character >> 12), more(6), more(0);
        else texts += static_cast<char>(0xF0 | character >> 18), more(12), more(6), more(0);
        return true;
    }
    // Four hexadecimal digits after a u; ends at the last.
    bool unit(std::uint32_t& to) {
        if (now() != 'u') return false;
        for (int i = 0; i < 4; ++i) {
            ++at_;
            const char c = now(), letter = static_cast<char>(c | 0x20);
            if (!is_digit(c) && (letter < 'a' || letter > 'f')) return false;
            to = to << 4 | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : letter - 'a' + 10);
        }
        return true;
    }

    std::string_view content_;
    Document& document_;
    Error& error_;
    std::size_t at_ = 0;
};

bool parse(std::string_view content, Document& document, Error& error) {
    if (!is_utf8(content)) return malformed(error, "{} is not UTF-8", {schedule_file});
    return Reader(content, document, error).read();
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
    tell(error.why, "this runtime supports version {} (newest known: {}.{})",
         {format_major, format_major, format_minor});
    error.help = major > format_major ? "update shadergen" : "compile the model again";
    return fail(error, "SG0504", "the schedule is of version {}", {version.text()});
}

}  // namespace shadergen
