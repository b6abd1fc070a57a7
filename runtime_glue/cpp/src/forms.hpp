// What schedule.schema.json says, as tables: compiled into form.cpp alone.

#ifndef SHADERGEN_FORMS_HPP
#define SHADERGEN_FORMS_HPP

#include <cstddef>
#include <cstdint>

namespace shadergen::forms {

// --- what a form is ---

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

// --- the forms, as in schedule.schema.json ---

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
constexpr Form parameter_name = text(1, 64, Pattern::parameter),
               parameter_bound = integer(1, max_int), constraint_bound = integer(-exact, exact);
constexpr Member parameter_members[] = {{"name", &parameter_name},
                                        {"default", &parameter_bound},
                                        {"min", &parameter_bound},
                                        {"max", &parameter_bound}};
constexpr Form parameter = object(parameter_members), parameters = array(parameter, 1, 16);
constexpr Member constraint_members[] = {
    {"value", &expression}, {"min", &constraint_bound}, {"max", &constraint_bound}, {"why", &name}};
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
constexpr Member limit_members[] = {
    {"texture_size", &limit_16384},          {"array_texture_layers", &limit_2048},
    {"texture_units", &limit_256},           {"draw_buffers", &limit_16},
    {"uniform_block_size", &limit_bytes},    {"uniform_blocks", &limit_256},
    {"storage_block_size", &limit_bytes},    {"storage_blocks", &limit_256},
    {"fragment_images", &limit_256},         {"compute_images", &limit_256},
    {"compute_texture_units", &limit_256},   {"compute_uniform_blocks", &limit_256},
    {"workgroup_invocations", &limit_65536}, {"workgroup_count", &limit_int}};
constexpr Form limits = object(limit_members);
constexpr const char* extension_names[] = {"GL_OES_EGL_image_external_essl3"};
constexpr Form extension = word(extension_names), extensions = unique(array(extension, 1, 16));
constexpr Member requires_members[] = {{"glsl", &glsl},
                                       {"color_buffer", &color_buffer},
                                       {"limits", &limits},
                                       {"extensions", &extensions, false}};
constexpr Form requires_form = object(requires_members);

constexpr Form axis = integer(0, 7), axes = unique(array(axis, 0, 8)), shape = array(count, 0, 8);
constexpr const char* dtypes[] = {"float32", "int64",  "int32",  "int16", "int8",
                                  "uint64",  "uint32", "uint16", "uint8", "bool"};
constexpr const char* encodings[] = {"float", "unorm8", "y2rg", "y2rg_half"};
constexpr const char* input_encodings[] = {"float", "unorm8"};
constexpr Form dtype = word(dtypes), encoding = word(encodings),
               input_encoding = word(input_encodings);
constexpr Form real = plain(Kind::number), range = nullable(array(real, 2, 2));
constexpr Member input_members[] = {{"name", &name},   {"texture", &name},
                                    {"shape", &shape}, {"axes", &axes},
                                    {"dtype", &dtype}, {"encoding", &input_encoding},
                                    {"range", &range}};
constexpr Member output_members[] = {{"name", &name}, {"texture", &name}, {"shape", &shape},
                                     {"axes", &axes}, {"dtype", &dtype},  {"encoding", &encoding}};
constexpr Form input = object(input_members), output = object(output_members);

constexpr const char* kinds[] = {"2d", "array", "external"};
constexpr const char* formats[] = {"r8",      "rg8",  "rgba8", "r16f",   "rg16f",
                                   "rgba16f", "r32f", "rg32f", "rgba32f"};
constexpr const char* packings[] = {"planes", "rows"};
constexpr Form kind = word(kinds), format = word(formats), packing = word(packings);
constexpr Form slot = nullable(integer(0, 65535)), pass_index = integer(0, 65536);
constexpr Member data_members[] = {{"offset", &offset}, {"size", &size}};
constexpr Form data = nullable(object(data_members));
constexpr Member texture_members[] = {
    {"name", &name},     {"kind", &kind},     {"format", &format},    {"width", &extent},
    {"height", &extent}, {"layers", &layers}, {"packing", &packing},  {"channels", &count},
    {"batch", &count},   {"slot", &slot},     {"first", &pass_index}, {"last", &pass_index},
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
constexpr Member read_members[] = {
    {"uniform", &identifier, false}, {"image", &unit, false},  {"texture", &name},
    {"matrix", &identifier, false},  {"layer", &layer, false}, {"layers", &layer_span, false}};
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
constexpr Member int_members[] = {
    {"name", &identifier}, {"type", &uniform_type}, {"value", &one_int}};
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
#define SHADERGEN_BOTH_STAGES                                                                      \
    {"name", &name}, {"stage", &stage}, {"kernel", &name}, {"shader", &path},                      \
        {"layers", &layer_names}, {"reads", &reads}, {"blocks", &blocks}, {"uniforms", &uniforms}, \
        {"barriers", &barriers}, {"weights", &weight_place}, {"macs", &work}, {                    \
        "bytes", &traffic                                                                          \
    }
constexpr Member fragment_members[] = {SHADERGEN_BOTH_STAGES,     {"writes", &draws},
                                       {"vertex", &path},         {"viewport", &viewport},
                                       {"image", &absent, false}, {"workgroup", &absent, false},
                                       {"groups", &absent, false}};
constexpr Member compute_members[] = {
    SHADERGEN_BOTH_STAGES,       {"writes", &stores}, {"image", &unit},
    {"workgroup", &workgroup},   {"groups", &groups}, {"vertex", &absent, false},
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
constexpr Member schedule_members[] = {{"format", &any_text},
                                       {"version", &any_text},
                                       {"generator", &name},
                                       {"model", &name},
                                       {"requires", &requires_form},
                                       {"inputs", &inputs},
                                       {"outputs", &outputs},
                                       {"textures", &textures},
                                       {"buffers", &buffers},
                                       {"weights", &weights},
                                       {"passes", &passes},
                                       {"sizes", &sizes_form, false},
                                       {"calibrated", &calibrated, false}};
constexpr Form schedule = object(schedule_members);

}  // namespace shadergen::forms

#endif
