#include "form.hpp"

#include <algorithm>

#include "text.hpp"

namespace shadergen {

namespace {

// --- what a form is ------------------------------------------------------------------------------

enum class Kind : std::uint8_t {
    integer,     // from low to high; `open` ones may be expressions of the sizes
    number,      // any
    small_real,  // a number within float32
    text,        // of low to high characters and, where there is one, a pattern
    word,        // one of `words`
    version,     // an integer that is one of 300, 310, 320
    array,       // low to high items, each of the form `items`
    pair,        // two items, the forms `items` and `second`
    object,      // `members`
    either,      // an object whose `members[0]` is a word, each with a form in `choices`
    expression,  // of sizes
    nothing,     // a member that must not be there
};

enum class Pattern : std::uint8_t { any, identifier, parameter, path, sha256 };

struct Form;

struct Member {
    const char* name;
    const Form* form;
    bool required = true;
};

struct Form {
    Kind kind = Kind::nothing;
    Pattern pattern = Pattern::any;
    bool nullable = false, open = false, unique = false;
    bool exclusive = false;  // an object that has exactly one of its first two members
    std::int64_t low = 0, high = 0;
    const Form* items = nullptr;
    const Form* second = nullptr;
    const Member* members = nullptr;
    const char* const* words = nullptr;
    const Form* const* choices = nullptr;
    std::size_t count = 0;  // of members or words
};

constexpr Form integer(std::int64_t low, std::int64_t high) {
    Form form;
    form.kind = Kind::integer, form.low = low, form.high = high;
    return form;
}
constexpr Form open(Form form) { return form.open = true, form; }
constexpr Form nullable(Form form) { return form.nullable = true, form; }
constexpr Form unique(Form form) { return form.unique = true, form; }
constexpr Form exclusive(Form form) { return form.exclusive = true, form; }
constexpr Form plain(Kind kind) {
    Form form;
    form.kind = kind;
    return form;
}
constexpr Form text(std::int64_t low, std::int64_t high, Pattern pattern = Pattern::any) {
    Form form;
    form.kind = Kind::text, form.pattern = pattern, form.low = low, form.high = high;
    return form;
}
constexpr Form array(const Form& items, std::int64_t low, std::int64_t high) {
    Form form;
    form.kind = Kind::array, form.items = &items, form.low = low, form.high = high;
    return form;
}
constexpr Form pair(const Form& first, const Form& second) {
    Form form = array(first, 2, 2);
    form.kind = Kind::pair, form.second = &second;
    return form;
}
template <std::size_t N>
constexpr Form object(const Member (&members)[N]) {
    Form form;
    form.kind = Kind::object, form.members = members, form.count = N;
    return form;
}
template <std::size_t N>
constexpr Form word(const char* const (&words)[N]) {
    Form form;
    form.kind = Kind::word, form.words = words, form.count = N;
    return form;
}
template <std::size_t N>
constexpr Form either(const Member& by, const char* const (&words)[N],
                      const Form* const (&choices)[N]) {
    Form form;
    form.kind = Kind::either, form.members = &by, form.words = words, form.choices = choices;
    form.count = N;
    return form;
}

// --- the forms, as in schedule.schema.json -----------------------------------------------------------

constexpr std::int64_t max_bytes = std::int64_t{1} << 40;
constexpr std::int64_t max_int = 2147483647;
constexpr std::int64_t max_work = std::int64_t{1} << 60;

constexpr Form name = text(1, 1024), identifier = text(1, 256, Pattern::identifier),
               path = text(1, 1024, Pattern::path), absent = plain(Kind::nothing);
constexpr Form offset = integer(0, max_bytes), size = integer(1, max_bytes);
constexpr Form extent = open(integer(1, 16384)), layers = open(integer(1, 2048)),
               layer = open(integer(0, 2047)), count = open(integer(1, max_int)),
               work = open(integer(0, max_work)), unit = integer(0, 255);
constexpr Form expression = plain(Kind::expression);

constexpr std::int64_t exact = (std::int64_t{1} << 53) - 1;
constexpr Form parameter_name = text(1, 64, Pattern::parameter), parameter_bound = integer(1, max_int),
               constraint_bound = integer(-exact, exact);
constexpr Member parameter_members[] = {{"name", &parameter_name}, {"default", &parameter_bound},
                                        {"min", &parameter_bound}, {"max", &parameter_bound}};
constexpr Form parameter = object(parameter_members), parameters = array(parameter, 1, 16);
constexpr Member constraint_members[] = {{"value", &expression}, {"min", &constraint_bound},
                                         {"max", &constraint_bound}, {"why", &name}};
constexpr Form constraint = object(constraint_members), constraints = array(constraint, 0, 1024);
constexpr Member sizes_members[] = {{"parameters", &parameters}, {"constraints", &constraints}};
constexpr Form sizes_form = object(sizes_members);

constexpr Form glsl = plain(Kind::version);
constexpr const char* color_buffers[] = {"float", "half_float", "none"};
constexpr Form color_buffer = word(color_buffers);
constexpr Form limit_16384 = open(integer(0, 16384)), limit_2048 = open(integer(0, 2048)),
               limit_256 = open(integer(0, 256)), limit_16 = open(integer(0, 16)),
               limit_bytes = open(integer(0, max_bytes)), limit_65536 = open(integer(0, 65536)),
               limit_int = open(integer(0, max_int));
constexpr Member limit_members[] = {{"texture_size", &limit_16384},
                                    {"array_texture_layers", &limit_2048},
                                    {"texture_units", &limit_256},
                                    {"draw_buffers", &limit_16},
                                    {"uniform_block_size", &limit_bytes},
                                    {"uniform_blocks", &limit_256},
                                    {"storage_block_size", &limit_bytes},
                                    {"storage_blocks", &limit_256},
                                    {"fragment_images", &limit_256},
                                    {"compute_images", &limit_256},
                                    {"compute_texture_units", &limit_256},
                                    {"compute_uniform_blocks", &limit_256},
                                    {"workgroup_invocations", &limit_65536},
                                    {"workgroup_count", &limit_int}};
constexpr Form limits = object(limit_members);
constexpr Member requires_members[] = {
    {"glsl", &glsl}, {"color_buffer", &color_buffer}, {"limits", &limits}};
constexpr Form requires_form = object(requires_members);

constexpr Form axis = integer(0, 7), axes = unique(array(axis, 0, 8)), shape = array(count, 0, 8);
constexpr const char* dtypes[] = {"float32", "int64",  "int32",  "int16", "int8",
                                  "uint64",  "uint32", "uint16", "uint8", "bool"};
constexpr const char* encodings[] = {"float", "unorm8", "y2rg", "y2rg_half"};
constexpr const char* input_encodings[] = {"float", "unorm8"};
constexpr Form dtype = word(dtypes), encoding = word(encodings),
               input_encoding = word(input_encodings);
constexpr Form real = plain(Kind::number), range = nullable(array(real, 2, 2));
constexpr Member input_members[] = {{"name", &name}, {"texture", &name}, {"shape", &shape},
                                    {"axes", &axes}, {"dtype", &dtype},
                                    {"encoding", &input_encoding}, {"range", &range}};
constexpr Member output_members[] = {{"name", &name}, {"texture", &name}, {"shape", &shape},
                                     {"axes", &axes}, {"dtype", &dtype}, {"encoding", &encoding}};
constexpr Form input = object(input_members), output = object(output_members);

constexpr const char* kinds[] = {"2d", "array"};
constexpr const char* formats[] = {"r8", "rg8", "rgba8", "r16f", "rg16f", "rgba16f",
                                   "r32f", "rg32f", "rgba32f"};
constexpr const char* packings[] = {"planes", "rows"};
constexpr Form kind = word(kinds), format = word(formats), packing = word(packings);
constexpr Form slot = nullable(integer(0, 65535)), pass_index = integer(0, 65536);
constexpr Member data_members[] = {{"offset", &offset}, {"size", &size}};
constexpr Form data = nullable(object(data_members));
constexpr Member texture_members[] = {
    {"name", &name},     {"kind", &kind},     {"format", &format},     {"width", &extent},
    {"height", &extent}, {"layers", &layers}, {"packing", &packing},   {"channels", &count},
    {"batch", &count},   {"slot", &slot},     {"first", &pass_index},  {"last", &pass_index},
    {"data", &data}};
constexpr Form texture = object(texture_members);

constexpr const char* buffer_kinds[] = {"uniform", "storage"};
constexpr Form buffer_kind = word(buffer_kinds);
constexpr Member buffer_members[] = {
    {"name", &name}, {"kind", &buffer_kind}, {"offset", &offset}, {"size", &size}};
constexpr Form buffer = object(buffer_members);

constexpr Form sha256 = text(64, 64, Pattern::sha256);
constexpr Member weights_members[] = {{"file", &path}, {"size", &offset}, {"sha256", &sha256}};
constexpr Form weights = object(weights_members);

constexpr Form layer_span = pair(layer, layers);
constexpr Member read_members[] = {{"uniform", &identifier, false}, {"image", &unit, false},
                                   {"texture", &name}, {"layer", &layer, false},
                                   {"layers", &layer_span, false}};
constexpr Form read = exclusive(object(read_members));
constexpr Member write_members[] = {{"texture", &name}, {"layer", &layer}};
constexpr Form write = object(write_members);
constexpr Member block_members[] = {{"block", &identifier}, {"buffer", &name}};
constexpr Form block = object(block_members);

constexpr Form whole = open(integer(-max_int - 1, max_int)), small_real = plain(Kind::small_real);
constexpr Form one_int = array(whole, 1, 1), two_ints = array(whole, 2, 2),
               one_real = array(small_real, 1, 1), four_reals = array(small_real, 4, 4);
constexpr const char* uniform_types[] = {"int", "ivec2", "float", "vec4"};
constexpr Form uniform_type = word(uniform_types);
constexpr Member int_members[] = {{"name", &identifier}, {"type", &uniform_type}, {"value", &one_int}};
constexpr Member ivec2_members[] = {
    {"name", &identifier}, {"type", &uniform_type}, {"value", &two_ints}};
constexpr Member float_members[] = {
    {"name", &identifier}, {"type", &uniform_type}, {"value", &one_real}};
constexpr Member vec4_members[] = {
    {"name", &identifier}, {"type", &uniform_type}, {"value", &four_reals}};
constexpr Form int_form = object(int_members), ivec2_form = object(ivec2_members),
               float_form = object(float_members), vec4_form = object(vec4_members);
constexpr const Form* uniform_forms[] = {&int_form, &ivec2_form, &float_form, &vec4_form};
constexpr Member uniform_by = {"type", &uniform_type};
constexpr Form uniform = either(uniform_by, uniform_types, uniform_forms);

constexpr const char* barrier_names[] = {"texture", "image", "framebuffer"};
constexpr Form barrier = word(barrier_names), barriers = unique(array(barrier, 0, 3));
constexpr const char* weight_places[] = {"constants", "ubo", "texture", "ssbo", "none"};
constexpr Form weight_place = word(weight_places);
constexpr Member traffic_members[] = {{"read", &work}, {"written", &work}};
constexpr Form traffic = object(traffic_members);
constexpr Form layer_name = text(0, 1024), layer_names = array(layer_name, 0, 4096);
constexpr Form reads = array(read, 0, 256), blocks = array(block, 0, 256),
               uniforms = array(uniform, 0, 256), draws = array(write, 1, 16),
               stores = array(write, 1, 2048);
constexpr Form viewport = array(extent, 2, 2), workgroup_size = integer(1, max_int),
               workgroup = array(workgroup_size, 3, 3), groups = array(count, 3, 3);
constexpr const char* stages[] = {"fragment", "compute"};
constexpr Form stage = word(stages);
#define SHADERGEN_BOTH_STAGES                                                                    \
    {"name", &name}, {"stage", &stage}, {"kernel", &name}, {"shader", &path},                    \
        {"layers", &layer_names}, {"reads", &reads}, {"blocks", &blocks},                        \
        {"uniforms", &uniforms}, {"barriers", &barriers}, {"weights", &weight_place},            \
        {"macs", &work}, {"bytes", &traffic}
constexpr Member fragment_members[] = {
    SHADERGEN_BOTH_STAGES,      {"writes", &draws},           {"vertex", &path},
    {"viewport", &viewport},    {"image", &absent, false},    {"workgroup", &absent, false},
    {"groups", &absent, false}};
constexpr Member compute_members[] = {
    SHADERGEN_BOTH_STAGES,   {"writes", &stores},       {"image", &unit},
    {"workgroup", &workgroup}, {"groups", &groups},     {"vertex", &absent, false},
    {"viewport", &absent, false}};
constexpr Form fragment_form = object(fragment_members), compute_form = object(compute_members);
constexpr const Form* pass_forms[] = {&fragment_form, &compute_form};
constexpr Member pass_by = {"stage", &stage};
constexpr Form pass = either(pass_by, stages, pass_forms);

constexpr Form any_text = text(0, 1 << 26);
constexpr Form inputs = array(input, 0, 256), outputs = array(output, 1, 256),
               textures = array(texture, 1, 65536), buffers = array(buffer, 0, 65536),
               passes = array(pass, 1, 65536);
constexpr Form calibrated = array(name, 1, 65536);
constexpr Member schedule_members[] = {
    {"format", &any_text},     {"version", &any_text},  {"generator", &name},
    {"model", &name},          {"requires", &requires_form}, {"inputs", &inputs},
    {"outputs", &outputs},     {"textures", &textures}, {"buffers", &buffers},
    {"weights", &weights},     {"passes", &passes},     {"sizes", &sizes_form, false},
    {"calibrated", &calibrated, false}};
constexpr Form schedule = object(schedule_members);

// --- checking ---------------------------------------------------------------------------------------

// Where a value is: written out only when it is wrong.
struct Place {
    const Place* outer;
    std::string_view member;  // or nothing, and an index
    std::uint32_t index;

    std::string text() const {
        if (!outer) return std::string(member);
        const std::string inner = member.empty() ? say({"[", index, "]"}) : std::string(member);
        const std::string before = outer->text();
        return before + (member.empty() || before.empty() ? "" : ".") + inner;
    }
};

const char* const kind_names[] = {"integer", "number", "number", "string", "string", "integer",
                                  "array",   "array",  "object", "object", "array",  ""};

std::string shown(Value value) {
    constexpr std::size_t longest = 100;
    switch (value.kind()) {
        case Json::null: return "null";
        case Json::boolean: return value.integer() ? "true" : "false";
        case Json::number:
            return value.whole() ? say({value.integer()}) : say({value.real()});
        case Json::text: return say({quote(value.text().substr(0, longest))});
        case Json::array: {
            if (value.size() > 4) return "an array";
            std::string items = "[";
            Value item = value.first();
            for (std::uint32_t i = 0; i < value.size(); ++i, item = item.next()) {
                const bool nested = item.is(Json::array) || item.is(Json::object);
                items += say({i ? ", " : "", nested ? "..." : shown(item)});
            }
            return items + "]";
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
                if (c == '/' ? before == '/' : !letter(c) && !digit(c) && c != '_' && c != '.' && c != '-')
                    return false;
                break;
            case Pattern::sha256:
                if (!digit(c) && !(c >= 'a' && c <= 'f')) return false;
                break;
        }
        before = c;
    }
    if (pattern == Pattern::parameter) return text != "min" && text != "max";
    return pattern != Pattern::path || before != '/';
}

class Check {
public:
    // Without sizes, expressions are not evaluated.
    Check(const Sizes* sizes, bool lenient) : sizes_(sizes), lenient_(lenient) {}

    bool operator()(Value value, const Form& form, const Place& place) {
        if (form.nullable && value.kind() == Json::null) return true;
        switch (form.kind) {
            case Kind::nothing: return wrong(place, {"this member does not belong here"});
            case Kind::integer: return check_integer(value, form, place);
            case Kind::version:
                if (value.kind() == Json::number && value.whole())
                    for (const int known : {300, 310, 320})
                        if (value.integer() == known) return true;
                return wrong(place, {shown(value), " is not one of [300, 310, 320]"});
            case Kind::number:
            case Kind::small_real: return check_real(value, form, place);
            case Kind::text: return check_text(value, form, place);
            case Kind::word: return index_of(value, form) < form.count || no_word(value, form, place);
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

    Error error;

private:
    bool wrong(const Place& place, Pieces what) {
        const std::string where = place.text();
        error = malformed(what, where.empty() ? "the whole document" : where);
        return false;
    }
    bool wrong_kind(Value value, const Form& form, const Place& place) {
        return wrong(place, {shown(value), " is not of type ",
                                 quote(kind_names[static_cast<int>(form.kind)])});
    }
    bool check_bounds(std::int64_t value, const Form& form, const Place& place) {
        if (value < form.low)
            return wrong(place, {value, " is less than the minimum of ", form.low});
        if (value > form.high)
            return wrong(place, {value, " is greater than the maximum of ", form.high});
        return true;
    }
    bool check_integer(Value value, const Form& form, const Place& place) {
        if (form.open && value.kind() == Json::array) {
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
            return wrong(place, {value.real(), " is less than the minimum of ", -largest_float});
        if (value.real() > largest_float)
            return wrong(place, {value.real(), " is greater than the maximum of ", largest_float});
        return true;
    }
    bool check_text(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::text) return wrong_kind(value, form, place);
        const auto length = static_cast<std::int64_t>(code_points(value.text()));
        if (length < form.low) return wrong(place, {shown(value), " is too short"});
        if (length > form.high) return wrong(place, {shown(value), " is too long"});
        return fits(form.pattern, value.text()) ||
               wrong(place, {shown(value), " does not match its pattern"});
    }
    static std::size_t index_of(Value value, const Form& form) {
        std::size_t i = 0;
        if (value.kind() != Json::text) return form.count;
        while (i < form.count && value.text() != form.words[i]) ++i;
        return i;
    }
    bool no_word(Value value, const Form& form, const Place& place) {
        std::string known;
        for (std::size_t i = 0; i < form.count; ++i)
            known += say({i ? ", " : "", quote(form.words[i])});
        return wrong(place, {shown(value), " is not one of [", known, "]"});
    }
    bool check_array(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::array) return wrong_kind(value, form, place);
        if (value.size() < form.low)
            return value.size() ? wrong(place, {shown(value), " is too short"})
                                : wrong(place, {"[] should be non-empty"});
        if (value.size() > form.high) return wrong(place, {"the array is too long"});
        Value item = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i, item = item.next()) {
            const Form& its = form.kind == Kind::pair && i == 1 ? *form.second : *form.items;
            if (!(*this)(item, its, {&place, {}, i})) return false;
            Value other = value.first();
            for (std::uint32_t j = 0; form.unique && j < i; ++j, other = other.next())
                if (shown(other) == shown(item))
                    return wrong(place, {shown(value), " has non-unique elements"});
        }
        return true;
    }
    bool check_object(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::object) return wrong_kind(value, form, place);
        for (std::size_t i = 0; i < form.count; ++i)
            if (form.members[i].required && !value[form.members[i].name])
                return wrong(place,
                             {quote(form.members[i].name), " is a required property"});
        if (form.exclusive && !value[form.members[0].name] == !value[form.members[1].name])
            return wrong(place, {"it takes exactly one of ", form.members[0].name, ", ",
                                     form.members[1].name});
        Value key = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i) {
            const std::string_view member = key.text();
            const Value held = key.next();
            std::size_t k = 0;
            while (k < form.count && member != form.members[k].name) ++k;
            if (k < form.count) {
                if (!(*this)(held, *form.members[k].form, {&place, member, 0})) return false;
            } else if (!lenient_) {
                return wrong(place, {"Additional properties are not allowed (",
                                         quote(member.substr(0, 100)), " was unexpected)"});
            }
            key = held.next();
        }
        return true;
    }
    bool check_either(Value value, const Form& form, const Place& place) {
        if (value.kind() != Json::object) return wrong_kind(value, form, place);
        const Value by = value[form.members->name];
        if (!by) return wrong(place, {quote(form.members->name), " is a required property"});
        const std::size_t chosen = index_of(by, form);
        if (chosen == form.count) return no_word(by, form, {&place, form.members->name, 0});
        return (*this)(value, *form.choices[chosen], place);
    }
    bool check_expression(Value value, const Place& place, std::int64_t& result) {
        constexpr std::uint32_t most_terms = 4096;
        constexpr std::size_t longest = 64;
        if (value.kind() != Json::array)
            return wrong(place, {shown(value), " is not of type 'array'"});
        if (!value.size()) return wrong(place, {"[] should be non-empty"});
        if (value.size() > most_terms) return wrong(place, {"the array is too long"});
        Value term = value.first();
        for (std::uint32_t i = 0; i < value.size(); ++i, term = term.next()) {
            const Place at = {&place, {}, i};
            if (term.is(Json::text) && term.text().size() <= longest) continue;
            if (term.is(Json::text)) return wrong(at, {shown(term), " is too long"});
            if (!term.is(Json::number) || !term.whole())
                return wrong(at, {shown(term), " is not of type 'integer', 'string'"});
            if (!check_bounds(term.integer(), constraint_bound, at)) return false;
        }
        if (!sizes_) return true;
        if (sizes_->values().empty()) return wrong(place, {"only a build with sizes has expressions"});
        const std::string why = sizes_->evaluate(value, result);
        return why.empty() || wrong(place, {"this size has no value: ", why});
    }

    const Sizes* sizes_;
    bool lenient_;
};

}  // namespace

Error check_form(Value value, const Sizes& sizes, bool lenient) {
    Check check(&sizes, lenient);
    check(value, schedule, {nullptr, {}, 0});
    return check.error;
}

Error check_sizes_form(Value value, bool lenient) {
    Check check(nullptr, lenient);
    check(value, sizes_form, {nullptr, "sizes", 0});
    return check.error;
}

}  // namespace shadergen
