// Written by tools/make_web.py from schedule.schema.json.
// clang-format off

#ifndef SHADERGEN_SCHEMA_HPP
#define SHADERGEN_SCHEMA_HPP

#include "forms.hpp"

namespace shadergen::forms {

constexpr Id schedule_form = 110;
constexpr Id sizes_form = 26;
constexpr Id limits_form = 16;
constexpr Id integer_form = 23;

constexpr Form table[] = {
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 1},
    {Kind::text, Pattern::any, false, false, false, false, 0, 1, 0, 0, 0, 0},
    {Kind::text, Pattern::sha256, false, false, false, false, 2, 2, 0, 0, 0, 0},
    {Kind::text, Pattern::any, false, false, false, false, 3, 4, 0, 0, 0, 0},
    {Kind::whole, Pattern::any, false, false, false, false, 0, 0, 0, 0, 1, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 4, 2},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 6, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 9, 1},
    {Kind::array, Pattern::any, false, false, true, false, 3, 5, 7, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 7, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 8, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 9, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 5, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 10, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 11, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 12, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 10, 14},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 24, 5},
    {Kind::text, Pattern::parameter, false, false, false, false, 3, 2, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 3, 12, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 29, 4},
    {Kind::array, Pattern::any, false, false, false, false, 3, 5, 20, 0, 0, 0},
    {Kind::expression, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 13, 14, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 33, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 4, 24, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 37, 2},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 12, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 15, 27, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 16, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, true, false, 6, 15, 29, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 39, 10},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 49, 2},
    {Kind::number, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, true, false, false, false, 17, 17, 33, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 51, 7},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 35, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 58, 4},
    {Kind::integer, Pattern::any, false, false, false, false, 3, 7, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 17, 17, 38, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 7, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 62, 6},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 68, 4},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 72, 7},
    {Kind::array, Pattern::any, false, false, false, false, 3, 9, 43, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 79, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 82, 9},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 7, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 8, 0, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 91, 2},
    {Kind::integer, Pattern::any, true, false, false, false, 6, 18, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 11, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 10, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 3, 10, 0, 0, 0, 0},
    {Kind::object, Pattern::any, true, false, false, false, 0, 0, 0, 0, 93, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 95, 14},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 55, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 109, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 111, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 11, 58, 0, 0, 0},
    {Kind::text, Pattern::path, false, false, false, false, 3, 4, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 115, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 118, 2},
    {Kind::text, Pattern::any, false, false, false, false, 6, 4, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 19, 63, 0, 0, 0},
    {Kind::text, Pattern::identifier, false, false, false, false, 3, 9, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 20, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 21, 0, 0, 0, 0},
    {Kind::pair, Pattern::any, false, false, false, false, 17, 17, 67, 48, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 14, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, true, 0, 0, 0, 0, 120, 7},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 70, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 127, 3},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 72, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 130, 4},
    {Kind::integer, Pattern::any, false, true, false, false, 22, 12, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 3, 75, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 134, 3},
    {Kind::small_real, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 3, 78, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 137, 3},
    {Kind::array, Pattern::any, false, false, false, false, 17, 17, 75, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 140, 3},
    {Kind::array, Pattern::any, false, false, false, false, 23, 23, 78, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 143, 3},
    {Kind::either, Pattern::any, false, false, false, false, 0, 0, 74, 0, 146, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 85, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 150, 2},
    {Kind::array, Pattern::any, false, false, false, false, 3, 5, 87, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 152, 3},
    {Kind::array, Pattern::any, false, false, true, false, 6, 0, 89, 0, 0, 0},
    {Kind::nothing, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 17, 17, 47, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 155, 5},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 24, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 160, 2},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 162, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 164, 4},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 168, 19},
    {Kind::array, Pattern::any, false, false, false, false, 3, 8, 87, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 0, 0, 19, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 0, 0, 27, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 187, 19},
    {Kind::either, Pattern::any, false, false, false, false, 0, 0, 62, 0, 206, 2},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 103, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 3, 0, 0, 0},
    {Kind::text, Pattern::renderer, false, false, false, false, 3, 9, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 4, 106, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 208, 5},
    {Kind::array, Pattern::any, false, false, false, false, 3, 2, 108, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 213, 15},
};

constexpr Member members[] = {
    {0, 0, true},
    {10, 0, true},
    {14, 0, true},
    {18, 0, true},
    {22, 0, true},
    {27, 0, true},
    {31, 0, true},
    {37, 0, true},
    {48, 0, true},
    {53, 0, true},
    {85, 9, true},
    {98, 10, true},
    {119, 11, true},
    {133, 12, true},
    {146, 13, true},
    {165, 11, true},
    {180, 13, true},
    {199, 11, true},
    {214, 11, true},
    {230, 11, true},
    {245, 11, true},
    {267, 11, true},
    {290, 14, true},
    {312, 15, true},
    {328, 4, false},
    {333, 5, false},
    {338, 6, true},
    {351, 8, false},
    {362, 16, true},
    {369, 18, true},
    {374, 19, true},
    {382, 19, true},
    {386, 19, true},
    {390, 22, true},
    {382, 23, true},
    {386, 23, true},
    {396, 3, true},
    {400, 21, true},
    {411, 25, true},
    {423, 0, true},
    {431, 0, true},
    {437, 0, true},
    {443, 0, true},
    {449, 0, true},
    {454, 0, true},
    {461, 0, true},
    {468, 0, true},
    {475, 0, true},
    {481, 0, true},
    {31, 0, true},
    {486, 0, true},
    {369, 3, true},
    {493, 3, true},
    {501, 28, true},
    {507, 30, true},
    {512, 31, true},
    {518, 32, true},
    {527, 34, true},
    {31, 0, true},
    {486, 0, true},
    {533, 0, true},
    {538, 0, true},
    {548, 29, true},
    {559, 29, true},
    {571, 39, true},
    {577, 40, true},
    {584, 40, true},
    {590, 38, true},
    {597, 3, true},
    {603, 41, false},
    {610, 41, false},
    {616, 3, false},
    {369, 3, true},
    {493, 3, true},
    {501, 28, true},
    {507, 30, true},
    {512, 31, true},
    {518, 37, true},
    {629, 42, false},
    {645, 0, true},
    {648, 0, true},
    {654, 0, true},
    {663, 0, true},
    {666, 0, true},
    {670, 0, true},
    {676, 0, true},
    {681, 0, true},
    {687, 0, true},
    {695, 0, true},
    {700, 0, true},
    {706, 0, true},
    {714, 0, true},
    {721, 0, true},
    {726, 52, true},
    {733, 53, true},
    {369, 3, true},
    {738, 45, true},
    {743, 46, true},
    {610, 47, true},
    {603, 47, true},
    {750, 48, true},
    {757, 49, true},
    {765, 27, true},
    {774, 27, true},
    {780, 27, false},
    {788, 50, true},
    {793, 51, true},
    {799, 51, true},
    {804, 54, true},
    {809, 0, true},
    {817, 0, true},
    {369, 3, true},
    {738, 57, true},
    {726, 52, true},
    {733, 53, true},
    {825, 60, true},
    {733, 52, true},
    {830, 2, true},
    {837, 0, true},
    {846, 0, true},
    {809, 65, false},
    {854, 66, false},
    {493, 3, true},
    {860, 65, false},
    {867, 67, false},
    {750, 68, false},
    {873, 69, false},
    {881, 65, true},
    {887, 3, true},
    {894, 69, false},
    {900, 0, true},
    {31, 0, true},
    {904, 0, true},
    {910, 0, true},
    {369, 65, true},
    {915, 74, true},
    {390, 76, true},
    {369, 65, true},
    {915, 74, true},
    {390, 79, true},
    {369, 65, true},
    {915, 74, true},
    {390, 81, true},
    {369, 65, true},
    {915, 74, true},
    {390, 83, true},
    {915, 77, true},
    {915, 80, true},
    {915, 82, true},
    {915, 84, true},
    {493, 3, true},
    {867, 67, true},
    {493, 0, true},
    {854, 0, true},
    {920, 0, true},
    {932, 0, true},
    {942, 0, true},
    {493, 0, true},
    {946, 0, true},
    {48, 0, true},
    {951, 94, true},
    {956, 94, true},
    {964, 0, true},
    {970, 0, true},
    {978, 94, true},
    {990, 69, true},
    {1001, 69, true},
    {1012, 96, false},
    {369, 3, true},
    {1022, 62, true},
    {1028, 3, true},
    {1035, 60, true},
    {1042, 60, true},
    {750, 64, true},
    {1049, 71, true},
    {1055, 73, true},
    {1062, 86, true},
    {1071, 88, true},
    {1078, 90, true},
    {854, 91, false},
    {1087, 91, false},
    {1097, 91, false},
    {1104, 92, true},
    {1113, 93, true},
    {1121, 94, true},
    {1126, 95, true},
    {1132, 97, false},
    {369, 3, true},
    {1022, 62, true},
    {1028, 3, true},
    {1035, 91, false},
    {1042, 60, true},
    {750, 64, true},
    {1049, 71, true},
    {1055, 73, true},
    {1062, 86, true},
    {1071, 99, true},
    {1078, 90, true},
    {854, 66, true},
    {1087, 100, true},
    {1097, 101, true},
    {1104, 91, false},
    {1113, 93, true},
    {1121, 94, true},
    {1126, 95, true},
    {1132, 97, false},
    {1022, 98, true},
    {1022, 102, true},
    {369, 3, true},
    {1137, 60, true},
    {1146, 107, true},
    {1156, 107, true},
    {333, 5, false},
    {743, 0, true},
    {1163, 1, true},
    {830, 2, false},
    {1171, 3, true},
    {1181, 3, true},
    {1187, 17, true},
    {1196, 26, false},
    {1202, 36, true},
    {1209, 44, true},
    {1217, 56, true},
    {1226, 59, true},
    {1113, 61, true},
    {1234, 104, true},
    {1241, 105, false},
    {1252, 109, false},
};

constexpr std::int64_t bounds[] = {
    3,
    9,
    64,
    1,
    1024,
    16,
    0,
    16384,
    2048,
    256,
    1099511627776,
    65536,
    2147483647,
    -9007199254740991,
    9007199254740991,
    8,
    7,
    2,
    65535,
    4096,
    255,
    2047,
    -2147483648,
    4,
    1152921504606846976,
};

constexpr char letters[] =
    "shadergen\0"
    "300\0"
    "310\0"
    "320\0"
    "core\0"
    "f16\0"
    "float\0"
    "half_float\0"
    "none\0"
    "GL_OES_EGL_image_external_essl3\0"
    "texture_size\0"
    "array_texture_layers\0"
    "texture_units\0"
    "draw_buffers\0"
    "uniform_block_size\0"
    "uniform_blocks\0"
    "storage_block_size\0"
    "storage_blocks\0"
    "fragment_images\0"
    "compute_images\0"
    "compute_texture_units\0"
    "compute_uniform_blocks\0"
    "workgroup_invocations\0"
    "workgroup_count\0"
    "glsl\0"
    "wgsl\0"
    "color_buffer\0"
    "extensions\0"
    "limits\0"
    "name\0"
    "default\0"
    "min\0"
    "max\0"
    "value\0"
    "why\0"
    "parameters\0"
    "constraints\0"
    "float32\0"
    "int64\0"
    "int32\0"
    "int16\0"
    "int8\0"
    "uint64\0"
    "uint32\0"
    "uint16\0"
    "uint8\0"
    "bool\0"
    "unorm8\0"
    "texture\0"
    "shape\0"
    "axes\0"
    "dtype\0"
    "encoding\0"
    "range\0"
    "y2rg\0"
    "y2rg_half\0"
    "input_axis\0"
    "output_axis\0"
    "scale\0"
    "before\0"
    "after\0"
    "period\0"
    "input\0"
    "height\0"
    "width\0"
    "unbounded_by\0"
    "receptive_field\0"
    "2d\0"
    "array\0"
    "external\0"
    "r8\0"
    "rg8\0"
    "rgba8\0"
    "r16f\0"
    "rg16f\0"
    "rgba16f\0"
    "r32f\0"
    "rg32f\0"
    "rgba32f\0"
    "planes\0"
    "rows\0"
    "offset\0"
    "size\0"
    "kind\0"
    "format\0"
    "layers\0"
    "packing\0"
    "channels\0"
    "batch\0"
    "stacked\0"
    "slot\0"
    "first\0"
    "last\0"
    "data\0"
    "uniform\0"
    "storage\0"
    "file\0"
    "sha256\0"
    "fragment\0"
    "compute\0"
    "image\0"
    "matrix\0"
    "layer\0"
    "fetches\0"
    "block\0"
    "buffer\0"
    "loads\0"
    "int\0"
    "ivec2\0"
    "vec4\0"
    "type\0"
    "framebuffer\0"
    "constants\0"
    "ubo\0"
    "ssbo\0"
    "read\0"
    "written\0"
    "highp\0"
    "mediump\0"
    "invocations\0"
    "multiplies\0"
    "operations\0"
    "precision\0"
    "stage\0"
    "kernel\0"
    "vertex\0"
    "shader\0"
    "reads\0"
    "blocks\0"
    "uniforms\0"
    "writes\0"
    "barriers\0"
    "workgroup\0"
    "groups\0"
    "viewport\0"
    "weights\0"
    "macs\0"
    "bytes\0"
    "work\0"
    "schedule\0"
    "renderers\0"
    "others\0"
    "version\0"
    "generator\0"
    "model\0"
    "requires\0"
    "sizes\0"
    "inputs\0"
    "outputs\0"
    "textures\0"
    "buffers\0"
    "passes\0"
    "calibrated\0"
    "variants\0";

}  // namespace shadergen::forms

namespace shadergen {

enum Limit : std::size_t {
    texture_size,
    array_texture_layers,
    texture_units,
    draw_buffers,
    uniform_block_size,
    uniform_blocks,
    storage_block_size,
    storage_blocks,
    fragment_images,
    compute_images,
    compute_texture_units,
    compute_uniform_blocks,
    workgroup_invocations,
    workgroup_count,
    limit_count,
};

}  // namespace shadergen

#endif
