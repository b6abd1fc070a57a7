#include "form.hpp"

#include <algorithm>

#include "schedule.hpp"
#include "text.hpp"

namespace shadergen {

namespace {

using namespace forms;

// of a Kind, as JSON Schema calls it
constexpr char kind_names[][8] = {"integer", "number", "number", "string", "string", "integer",
                                  "array",   "array",  "object", "object",  "array",  ""};

constexpr const char* name(const Member& member) { return letters + member.name; }

constexpr const Member& member(const Form& form, std::size_t i) { return members[form.first + i]; }

std::string shown(Value value) {
    constexpr std::size_t longest = 100;
    switch (value.kind()) {
        case Json::null: return "null";
        case Json::boolean: return value.integer() ? "true" : "false";
        case Json::number:
            return value.whole() ? say("{}", {value.integer()}) : say("{}", {value.real()});
        case Json::text: return say("'{}'", {value.text().substr(0, longest)});
        case Json::array: {
            if (value.size() > 4) return "an array";
            std::string items;
            for (const Value item : value) {
                const bool nested = item.is(Json::array) || item.is(Json::object);
                enlist(items, nested ? "..." : shown(item));
            }
            return say("[{}]", {items});
        }
        case Json::object: return "an object";
    }
    return {};
}

bool fits(Pattern pattern, std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    char before = '/';
    for (const char c : text) {
        switch (pattern) {
            case Pattern::any: break;
            case Pattern::identifier:
                if (!letter(c) && c != '_' && (!digit(c) || before == '/')) return false;
                break;
            case Pattern::parameter:
                if ((c < 'a' || c > 'z') && c != '_' && (!digit(c) || before == '/')) return false;
                break;
            case Pattern::path:  // no empty part
                if (c == '/' ? before == '/'
                             : !letter(c) && !digit(c) && c != '_' && c != '.' && c != '-')
                    return false;
                break;
            case Pattern::sha256:
                if (!digit(c) && !(c >= 'a' && c <= 'f')) return false;
                break;
            case Pattern::renderer:
                if (!digit(c) && !(c >= 'a' && c <= 'z') && c != '?' && c != '*' && c != ' ')
                    return false;
                break;
        }
        before = c;
    }
    if (pattern == Pattern::parameter) return !same(text, "min") && !same(text, "max");
    return pattern != Pattern::path || before != '/';
}

class Check {
public:
    // Without sizes, expressions are not evaluated.
    Check(const Sizes* sizes, bool lenient, Error& error)
        : sizes_(sizes), lenient_(lenient), error_(error) {}

    bool operator()(Value value, const Form& form, const Place& place) {
        if (form.is_nullable && value.kind() == Json::null) return true;
        switch (form.kind) {
            case Kind::nothing: return wrong(place, "this member does not belong here", {});
            case Kind::integer: return check_integer(value, form, place);
            case Kind::number:
            case Kind::small_real: return check_real(value, form, place);
            case Kind::text: return check_text(value, form, place);
            case Kind::word:
            case Kind::whole:
                return index_of(value, form) < form.count || no_word(value, form, place);
            case Kind::array:
            case Kind::pair: return check_array(value, form, place);
            case Kind::object: return check_object(value, form, place);
            case Kind::either: return check_either(value, form, place);
            case Kind::expression: {
                std::int64_t result = 0;
                return check_expression(value, place, result);
            }
        }
        return false;
    }

private:
    bool wrong(const Place& place, const char* what, Words words) {
        const std::string where = place.text();
        return malformed(error_, what, words, where.empty() ? "the whole document" : where);
    }
    // The same of the value at that place.
    bool wrong(const Place& place, const char* what, Value value) {
        return wrong(place, what, {shown(value)});
    }
    bool wrong_kind(Value value, const Form& form, const Place& place) {
        return wrong(place, "{} is not of type '{}'",
                     {shown(value), kind_names[static_cast<int>(form.kind)]});
    }
    bool check_bounds(std::int64_t value, const Form& form, const Place& place) {
        const std::int64_t low = bounds[form.low], high = bounds[form.high];
        if (value < low) return wrong(place, "{} is less than the minimum of {}", {value, low});
        if (value > high)
            return wrong(place, "{} is greater than the maximum of {}", {value, high});
        return true;
    }
    bool check_integer(Value value, const Form& form, const Place& place) {
        if (form.is_open && value.kind() == Json::array) {
            std::int64_t result = 0;
            return check_expression(value, place, result) && check_bounds(result, form, place);
        }
        if (value.kind() != Json::number || !value.whole()) return wrong_kind(value, form, place);
        return check_bounds(value.integer(), form, place);
    }
    bool check_real(Value value, const Form& form, const Place& place) {
        constexpr double largest_float = 3.4028234663852886e+38;
        if (value.kind() != Json::number) return wrong_kind(value, form, place);
        if (form.kind == Kind::number) return true;
        if (value.real() < -largest_float)
            return wrong(place, "{} is less than the minimum of {}",
                         {value.real(), -largest_float});
        if (value.real() > largest_float)
            return wrong(place, "{} is greater than the maximum of {}",
                         {value.real(), largest_float});
        return true;
    }
    bool check_text(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::text) return wrong_kind(value, form, place);
        const auto length = static_cast<std::int64_t>(code_points(value.text()));
        if (length < bounds[form.low]) return wrong(place, "{} is too short", value);
        if (length > bounds[form.high]) return wrong(place, "{} is too long", value);
        return fits(form.pattern, value.text()) ||
               wrong(place, "{} does not match its pattern", value);
    }
    // Which member of an object, or which word.
    static std::size_t index_of(std::string_view text, const Form& form) {
        std::size_t i = 0;
        while (i < form.count && !same(text, name(member(form, i)))) ++i;
        return i;
    }
    static std::size_t index_of(Value value, const Form& form) {
        if (value.kind() == Json::text && form.kind != Kind::whole)
            return index_of(value.text(), form);
        return form.kind == Kind::whole && value.whole() ? index_of(shown(value), form) : form.count;
    }
    bool no_word(Value value, const Form& form, const Place& place) {
        const char* const quote = form.kind == Kind::word ? "'" : "";
        std::string known;
        for (std::size_t i = 0; i < form.count; ++i)
            enlist(known, say("{}{}{}", {quote, name(member(form, i)), quote}));
        return wrong(place, "{} is not one of [{}]", {shown(value), known});
    }
    bool check_array(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::array) return wrong_kind(value, form, place);
        if (value.size() < bounds[form.low])
            return value.size() ? wrong(place, "{} is too short", value)
                                : wrong(place, "[] should be non-empty", {});
        if (value.size() > bounds[form.high]) return wrong(place, "the array is too long", {});
        Value item = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i, item = item.next()) {
            const Id its = form.kind == Kind::pair && i == 1 ? form.second : form.items;
            if (!(*this)(item, table[its], {place, nullptr, i})) return false;
            Value other = value.first();
            for (std::uint32_t j = 0; form.is_unique && j < i; ++j, other = other.next())
                if (shown(other) == shown(item))
                    return wrong(place, "{} has non-unique elements", value);
        }
        return true;
    }
    bool check_object(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::object) return wrong_kind(value, form, place);
        for (std::size_t i = 0; i < form.count; ++i) {
            const Member& wanted = member(form, i);
            if (wanted.is_required && !value[name(wanted)])
                return wrong(place, "'{}' is a required property", {name(wanted)});
        }
        if (form.is_exclusive) {
            const char *const one = name(member(form, 0)), *const other = name(member(form, 1));
            if (!value[one] == !value[other])
                return wrong(place, "give exactly one of {}, {}", {one, other});
        }
        Value key = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i) {
            const std::string_view given = key.text();
            const Value held = key.next();
            const std::size_t k = index_of(given, form);
            if (k < form.count) {
                if (!(*this)(held, table[member(form, k).form], {place, given.data()}))
                    return false;
            } else if (!lenient_) {
                return wrong(place, "Additional properties are not allowed ('{}' was unexpected)",
                             {given.substr(0, 100)});
            }
            key = held.next();
        }
        return true;
    }
    bool check_either(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::object) return wrong_kind(value, form, place);
        const char* const word = name(member(form, 0));
        const Value by = value[word];
        if (!by) return wrong(place, "'{}' is a required property", {word});
        const Form& words = table[form.items];
        const std::size_t chosen = index_of(by, words);
        if (chosen == words.count) return no_word(by, words, {place, word});
        return (*this)(value, table[member(form, chosen).form], place);
    }
    bool check_expression(Value value, const Place& place, std::int64_t& result) {
        constexpr std::size_t longest = 64;
        if (value.kind() != Json::array) return wrong(place, "{} is not of type 'array'", value);
        if (!value.size()) return wrong(place, "[] should be non-empty", {});
        if (value.size() > max_terms) return wrong(place, "the array is too long", {});
        Value term = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i, term = term.next()) {
            const Place at = {place, nullptr, i};
            if (term.is(Json::text) && term.text().size() <= longest) continue;
            if (term.is(Json::text)) return wrong(at, "{} is too long", term);
            if (!term.is(Json::number) || !term.whole())
                return wrong(at, "{} is not of type 'integer', 'string'", term);
            if (!check_bounds(term.integer(), table[integer_form], at)) return false;
        }
        if (!sizes_) return true;
        if (sizes_->parameters().empty())
            return wrong(place, "expressions need the member 'sizes'", {});
        std::string why;
        sizes_->evaluate(value, result, why);
        return why.empty() || wrong(place, "this size cannot be computed: {}", {why});
    }

    const Sizes* sizes_;
    bool lenient_;
    Error& error_;
};

}  // namespace

const char* limit_name(std::size_t limit) {
    static_assert(table[limits_form].count == limit_count);
    return name(member(table[limits_form], limit));
}

bool check_form(Value value, const Sizes& sizes, bool lenient, Error& error) {
    return Check(&sizes, lenient, error)(value, table[schedule_form], nullptr);
}

bool check_sizes_form(Value value, bool lenient, Error& error) {
    return Check(nullptr, lenient, error)(value, table[sizes_form], "sizes");
}

}  // namespace shadergen
