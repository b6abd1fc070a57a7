// What schedule.schema.json says, as tables made by the compiler: compiled into form.cpp alone.
// They hold indices and no pointers, which a program would have to relocate when it starts.

#ifndef SHADERGEN_FORMS_HPP
#define SHADERGEN_FORMS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace shadergen::forms {

// --- what a form is ---

enum class Kind : std::uint8_t {
    integer,     // from low to high; `open` ones may be expressions of the sizes
    number,      // any
    small_real,  // a number within float32
    text,        // of low to high characters and, where there is one, a pattern
    word,        // the name of one of the members
    version,     // an integer that is one of 300, 310, 320
    array,       // low to high items, each of the form `items`
    pair,        // two items, the forms `items` and `second`
    object,      // has these members
    either,      // an object with a word of the form `items`, and the form of its member for that
    expression,  // of sizes
    nothing,     // a member that must not be there
};

enum class Pattern : std::uint8_t { any, identifier, parameter, path, sha256 };

using Id = std::uint8_t;  // of a form

struct Form {
    Kind kind = Kind::nothing;
    Pattern pattern = Pattern::any;
    bool nullable : 1, open : 1, unique : 1;
    bool exclusive : 1;              // an object that has exactly one of its first two members
    std::uint8_t low = 0, high = 0;  // where they stand in the list of bounds
    Id items = 0, second = 0;
    std::uint8_t first = 0, count = 0;  // members

    constexpr Form() : nullable(false), open(false), unique(false), exclusive(false) {}
};

struct Member {
    std::uint16_t name = 0;  // where it starts in the list of letters
    Id form = 0;
    bool required = true;
};

// A member as it is written down below.
struct Named {
    const char* name;
    Id form;
    bool required = true;
};

struct Schema {
    Form forms[256];
    Member members[256];
    std::int64_t bounds[256] = {};
    char letters[4096] = {};
    std::size_t form_count = 0, member_count = 0, bound_count = 0, letter_count = 0;
    Id schedule = 0, sizes = 0, limits = 0, constraint_bound = 0;

    constexpr Id add(const Form& form) {
        forms[form_count] = form;
        return static_cast<Id>(form_count++);
    }
    constexpr Id plain(Kind kind) {
        Form form;
        form.kind = kind;
        return add(form);
    }
    constexpr Id bounded(Kind kind, std::int64_t low, std::int64_t high, Id items = 0) {
        Form form;
        form.kind = kind, form.low = bound(low), form.high = bound(high), form.items = items;
        return add(form);
    }
    constexpr Id integer(std::int64_t low, std::int64_t high) {
        return bounded(Kind::integer, low, high);
    }
    constexpr Id open(Id form) { return forms[form].open = true, form; }
    constexpr Id nullable(Id form) { return forms[form].nullable = true, form; }
    constexpr Id unique(Id form) { return forms[form].unique = true, form; }
    constexpr Id exclusive(Id form) { return forms[form].exclusive = true, form; }
    constexpr Id text(std::int64_t low, std::int64_t high, Pattern pattern = Pattern::any) {
        const Id form = bounded(Kind::text, low, high);
        return forms[form].pattern = pattern, form;
    }
    constexpr Id array(Id items, std::int64_t low, std::int64_t high) {
        return bounded(Kind::array, low, high, items);
    }
    constexpr Id pair(Id first, Id second) {
        const Id form = bounded(Kind::pair, 2, 2, first);
        return forms[form].second = second, form;
    }
    template <std::size_t N>
    constexpr Id object(const Named (&its)[N]) {
        const Id form = begin(Kind::object);
        for (const Named& member : its) have(form, member);
        return form;
    }
    template <std::size_t N, std::size_t M>
    constexpr Id object(const Named (&common)[N], const Named (&its)[M]) {
        const Id form = object(common);
        for (const Named& member : its) have(form, member);
        return form;
    }
    template <std::size_t N>
    constexpr Id word(const char* const (&words)[N]) {
        const Id form = begin(Kind::word);
        for (const char* const name : words) have(form, {name, 0});
        return form;
    }
    // The forms are in the order of the words.
    template <std::size_t N>
    constexpr Id either(const char* by, Id word, const Id (&choices)[N]) {
        const Id form = begin(Kind::either);
        for (const Id choice : choices) have(form, {by, choice});
        return forms[form].items = word, form;
    }

private:
    constexpr Id begin(Kind kind) {
        const Id form = plain(kind);
        return forms[form].first = static_cast<std::uint8_t>(member_count), form;
    }
    constexpr void have(Id form, const Named& member) {
        members[member_count].name = spelled(member.name);
        members[member_count].form = member.form;
        members[member_count++].required = member.required;
        ++forms[form].count;
    }
    constexpr std::uint16_t spelled(const char* name) {
        for (std::size_t i = 0; i < member_count; ++i)
            if (equal(letters + members[i].name, name)) return members[i].name;
        const std::size_t start = letter_count;
        for (const char* c = name; *c; ++c) letters[letter_count++] = *c;
        letters[letter_count++] = 0;
        return static_cast<std::uint16_t>(start);
    }
    static constexpr bool equal(const char* a, const char* b) {
        while (*a && *a == *b) ++a, ++b;
        return *a == *b;
    }
    constexpr std::uint8_t bound(std::int64_t value) {
        std::size_t i = 0;
        while (i < bound_count && bounds[i] != value) ++i;
        if (i == bound_count) bounds[bound_count++] = value;
        return static_cast<std::uint8_t>(i);
    }
};

// --- the forms, as in schedule.schema.json ---

constexpr Schema written() {
    Schema s;
    constexpr std::int64_t max_bytes = std::int64_t{1} << 40, max_int = 2147483647;
    constexpr std::int64_t exact = (std::int64_t{1} << 53) - 1, max_work = std::int64_t{1} << 60;

    const Id name = s.text(1, 1024), identifier = s.text(1, 256, Pattern::identifier),
             path = s.text(1, 1024, Pattern::path), absent = s.plain(Kind::nothing);
    const Id offset = s.integer(0, max_bytes), size = s.integer(1, max_bytes);
    const Id extent = s.open(s.integer(1, 16384)), layers = s.open(s.integer(1, 2048)),
             layer = s.open(s.integer(0, 2047)), count = s.open(s.integer(1, max_int)),
             work = s.open(s.integer(0, max_work)), unit = s.integer(0, 255);
    const Id expression = s.plain(Kind::expression);

    const Id parameter_name = s.text(1, 64, Pattern::parameter),
             parameter_bound = s.integer(1, max_int);
    s.constraint_bound = s.integer(-exact, exact);
    const Id parameter = s.object({{"name", parameter_name},
                                   {"default", parameter_bound},
                                   {"min", parameter_bound},
                                   {"max", parameter_bound}});
    const Id constraint = s.object({{"value", expression},
                                    {"min", s.constraint_bound},
                                    {"max", s.constraint_bound},
                                    {"why", name}});
    s.sizes = s.object(
        {{"parameters", s.array(parameter, 1, 16)}, {"constraints", s.array(constraint, 0, 1024)}});

    const Id glsl = s.plain(Kind::version);
    const Id color_buffer = s.word({"float", "half_float", "none"});
    const Id limit_16384 = s.open(s.integer(0, 16384)), limit_2048 = s.open(s.integer(0, 2048)),
             limit_256 = s.open(s.integer(0, 256)), limit_16 = s.open(s.integer(0, 16)),
             limit_bytes = s.open(s.integer(0, max_bytes)),
             limit_65536 = s.open(s.integer(0, 65536)), limit_int = s.open(s.integer(0, max_int));
    s.limits = s.object({{"texture_size", limit_16384},
                         {"array_texture_layers", limit_2048},
                         {"texture_units", limit_256},
                         {"draw_buffers", limit_16},
                         {"uniform_block_size", limit_bytes},
                         {"uniform_blocks", limit_256},
                         {"storage_block_size", limit_bytes},
                         {"storage_blocks", limit_256},
                         {"fragment_images", limit_256},
                         {"compute_images", limit_256},
                         {"compute_texture_units", limit_256},
                         {"compute_uniform_blocks", limit_256},
                         {"workgroup_invocations", limit_65536},
                         {"workgroup_count", limit_int}});
    const Id extension = s.word({"GL_OES_EGL_image_external_essl3"});
    const Id required = s.object({{"glsl", glsl},
                                  {"color_buffer", color_buffer},
                                  {"limits", s.limits},
                                  {"extensions", s.unique(s.array(extension, 1, 16)), false}});

    const Id axis = s.integer(0, 7), axes = s.unique(s.array(axis, 0, 8)),
             shape = s.array(count, 0, 8);
    const Id dtype = s.word({"float32", "int64", "int32", "int16", "int8", "uint64", "uint32",
                             "uint16", "uint8", "bool"});
    const Id input_encoding = s.word({"float", "unorm8"}),
             encoding = s.word({"float", "unorm8", "y2rg", "y2rg_half"});
    const Id range = s.nullable(s.array(s.plain(Kind::number), 2, 2));
    const Id input = s.object({{"name", name},
                               {"texture", name},
                               {"shape", shape},
                               {"axes", axes},
                               {"dtype", dtype},
                               {"encoding", input_encoding},
                               {"range", range}});
    const Id output = s.object({{"name", name},
                                {"texture", name},
                                {"shape", shape},
                                {"axes", axes},
                                {"dtype", dtype},
                                {"encoding", encoding}});

    const Id kind = s.word({"2d", "array", "external"}), packing = s.word({"planes", "rows"});
    const Id format =
        s.word({"r8", "rg8", "rgba8", "r16f", "rg16f", "rgba16f", "r32f", "rg32f", "rgba32f"});
    const Id slot = s.nullable(s.integer(0, 65535)), pass_index = s.integer(0, 65536);
    const Id data = s.nullable(s.object({{"offset", offset}, {"size", size}}));
    const Id texture = s.object({{"name", name},
                                 {"kind", kind},
                                 {"format", format},
                                 {"width", extent},
                                 {"height", extent},
                                 {"layers", layers},
                                 {"packing", packing},
                                 {"channels", count},
                                 {"batch", count},
                                 {"slot", slot},
                                 {"first", pass_index},
                                 {"last", pass_index},
                                 {"data", data}});

    const Id buffer_kind = s.word({"uniform", "storage"});
    const Id buffer =
        s.object({{"name", name}, {"kind", buffer_kind}, {"offset", offset}, {"size", size}});
    const Id sha256 = s.text(64, 64, Pattern::sha256);
    const Id weights = s.object({{"file", path}, {"size", offset}, {"sha256", sha256}});

    const Id read = s.exclusive(s.object({{"uniform", identifier, false},
                                          {"image", unit, false},
                                          {"texture", name},
                                          {"matrix", identifier, false},
                                          {"layer", layer, false},
                                          {"layers", s.pair(layer, layers), false}}));
    const Id write = s.object({{"texture", name}, {"layer", layer}});
    const Id block = s.object({{"block", identifier}, {"buffer", name}});

    const Id whole = s.open(s.integer(-max_int - 1, max_int)), real = s.plain(Kind::small_real);
    const Id uniform_type = s.word({"int", "ivec2", "float", "vec4"});
    const Named uniform_members[] = {{"name", identifier}, {"type", uniform_type}};
    const Id uniform = s.either("type", uniform_type,
                                {s.object(uniform_members, {{"value", s.array(whole, 1, 1)}}),
                                 s.object(uniform_members, {{"value", s.array(whole, 2, 2)}}),
                                 s.object(uniform_members, {{"value", s.array(real, 1, 1)}}),
                                 s.object(uniform_members, {{"value", s.array(real, 4, 4)}})});

    const Id barrier = s.word({"texture", "image", "framebuffer"});
    const Id weight_place = s.word({"constants", "ubo", "texture", "ssbo", "none"});
    const Id traffic = s.object({{"read", work}, {"written", work}});
    const Id stage = s.word({"fragment", "compute"});
    const Named pass_members[] = {{"name", name},
                                  {"stage", stage},
                                  {"kernel", name},
                                  {"shader", path},
                                  {"layers", s.array(s.text(0, 1024), 0, 4096)},
                                  {"reads", s.array(read, 0, 256)},
                                  {"blocks", s.array(block, 0, 256)},
                                  {"uniforms", s.array(uniform, 0, 256)},
                                  {"barriers", s.unique(s.array(barrier, 0, 3))},
                                  {"weights", weight_place},
                                  {"macs", work},
                                  {"bytes", traffic}};
    const Id draw = s.object(pass_members, {{"writes", s.array(write, 1, 16)},
                                            {"vertex", path},
                                            {"viewport", s.array(extent, 2, 2)},
                                            {"image", absent, false},
                                            {"workgroup", absent, false},
                                            {"groups", absent, false}});
    const Id dispatch = s.object(pass_members, {{"writes", s.array(write, 1, 2048)},
                                                {"image", unit},
                                                {"workgroup", s.array(s.integer(1, max_int), 3, 3)},
                                                {"groups", s.array(count, 3, 3)},
                                                {"vertex", absent, false},
                                                {"viewport", absent, false}});
    const Id pass = s.either("stage", stage, {draw, dispatch});

    const Id any_text = s.text(0, 1 << 26);
    s.schedule = s.object({{"format", any_text},
                           {"version", any_text},
                           {"generator", name},
                           {"model", name},
                           {"requires", required},
                           {"inputs", s.array(input, 0, 256)},
                           {"outputs", s.array(output, 1, 256)},
                           {"textures", s.array(texture, 1, 65536)},
                           {"buffers", s.array(buffer, 0, 65536)},
                           {"weights", weights},
                           {"passes", s.array(pass, 1, 65536)},
                           {"sha256", sha256, false},
                           {"sizes", s.sizes, false},
                           {"calibrated", s.array(name, 1, 65536), false}});
    return s;
}

// --- the tables, each as long as it has to be ---

template <std::size_t Count, class T, std::size_t Room>
constexpr std::array<T, Count> filled(const T (&items)[Room]) {
    static_assert(Count <= Room);
    std::array<T, Count> result{};
    for (std::size_t i = 0; i < Count; ++i) result[i] = items[i];
    return result;
}

constexpr Schema schema = written();
constexpr auto table = filled<schema.form_count>(schema.forms);
constexpr auto members = filled<schema.member_count>(schema.members);
constexpr auto bounds = filled<schema.bound_count>(schema.bounds);
constexpr auto letters = filled<schema.letter_count>(schema.letters);

constexpr const char* name(const Member& member) { return letters.data() + member.name; }

}  // namespace shadergen::forms

#endif
