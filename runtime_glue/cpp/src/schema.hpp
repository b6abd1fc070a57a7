// Written by tools/make_web.py from schedule.schema.json.
// clang-format off

#ifndef SHADERGEN_SCHEMA_HPP
#define SHADERGEN_SCHEMA_HPP

#include "forms.hpp"

namespace shadergen::forms {

constexpr Id schedule_form = 103;
constexpr Id sizes_form = 25;
constexpr Id limits_form = 15;
constexpr Id integer_form = 22;

constexpr Form table[] = {
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 1},
    {Kind::text, Pattern::any, false, false, false, false, 0, 1, 0, 0, 0, 0},
    {Kind::text, Pattern::sha256, false, false, false, false, 2, 2, 0, 0, 0, 0},
    {Kind::text, Pattern::any, false, false, false, false, 3, 4, 0, 0, 0, 0},
    {Kind::whole, Pattern::any, false, false, false, false, 0, 0, 0, 0, 1, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 4, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 7, 1},
    {Kind::array, Pattern::any, false, false, true, false, 3, 5, 6, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 7, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 8, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 9, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 5, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 10, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 11, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 12, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 8, 14},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 22, 4},
    {Kind::text, Pattern::parameter, false, false, false, false, 3, 2, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 3, 12, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 26, 4},
    {Kind::array, Pattern::any, false, false, false, false, 3, 5, 19, 0, 0, 0},
    {Kind::expression, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 13, 14, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 30, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 4, 23, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 34, 2},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 12, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 15, 26, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 16, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, true, false, 6, 15, 28, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 36, 10},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 46, 2},
    {Kind::number, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, true, false, false, false, 17, 17, 32, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 48, 7},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 34, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 55, 4},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 59, 6},
    {Kind::array, Pattern::any, false, false, false, false, 3, 9, 37, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 65, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 68, 9},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 7, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 3, 8, 0, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 77, 2},
    {Kind::integer, Pattern::any, true, false, false, false, 6, 18, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 11, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 10, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 3, 10, 0, 0, 0, 0},
    {Kind::object, Pattern::any, true, false, false, false, 0, 0, 0, 0, 79, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 81, 13},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 49, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 94, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 96, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 11, 52, 0, 0, 0},
    {Kind::text, Pattern::path, false, false, false, false, 3, 4, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 100, 3},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 103, 2},
    {Kind::text, Pattern::any, false, false, false, false, 6, 4, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 19, 57, 0, 0, 0},
    {Kind::text, Pattern::identifier, false, false, false, false, 3, 9, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 20, 0, 0, 0, 0},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 21, 0, 0, 0, 0},
    {Kind::pair, Pattern::any, false, false, false, false, 17, 17, 61, 42, 0, 0},
    {Kind::integer, Pattern::any, false, false, false, false, 6, 14, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, true, 0, 0, 0, 0, 105, 7},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 64, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 112, 3},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 66, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 115, 4},
    {Kind::integer, Pattern::any, false, true, false, false, 22, 12, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 3, 69, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 119, 3},
    {Kind::small_real, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 3, 72, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 122, 3},
    {Kind::array, Pattern::any, false, false, false, false, 17, 17, 69, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 125, 3},
    {Kind::array, Pattern::any, false, false, false, false, 23, 23, 72, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 128, 3},
    {Kind::either, Pattern::any, false, false, false, false, 0, 0, 68, 0, 131, 4},
    {Kind::array, Pattern::any, false, false, false, false, 6, 9, 79, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 135, 2},
    {Kind::array, Pattern::any, false, false, false, false, 3, 5, 81, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 137, 3},
    {Kind::array, Pattern::any, false, false, true, false, 6, 0, 83, 0, 0, 0},
    {Kind::nothing, Pattern::any, false, false, false, false, 0, 0, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 17, 17, 41, 0, 0, 0},
    {Kind::word, Pattern::any, false, false, false, false, 0, 0, 0, 0, 140, 5},
    {Kind::integer, Pattern::any, false, true, false, false, 6, 24, 0, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 145, 2},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 147, 3},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 150, 19},
    {Kind::array, Pattern::any, false, false, false, false, 3, 8, 81, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 0, 0, 18, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 0, 0, 26, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 169, 19},
    {Kind::either, Pattern::any, false, false, false, false, 0, 0, 56, 0, 188, 2},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 96, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 3, 11, 3, 0, 0, 0},
    {Kind::text, Pattern::renderer, false, false, false, false, 3, 9, 0, 0, 0, 0},
    {Kind::array, Pattern::any, false, false, false, false, 6, 4, 99, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 190, 4},
    {Kind::array, Pattern::any, false, false, false, false, 3, 2, 101, 0, 0, 0},
    {Kind::object, Pattern::any, false, false, false, false, 0, 0, 0, 0, 194, 15},
};

constexpr Member members[] = {
    {0, 0, true},
    {10, 0, true},
    {14, 0, true},
    {18, 0, true},
    {22, 0, true},
    {28, 0, true},
    {39, 0, true},
    {44, 0, true},
    {76, 8, true},
    {89, 9, true},
    {110, 10, true},
    {124, 11, true},
    {137, 12, true},
    {156, 10, true},
    {171, 12, true},
    {190, 10, true},
    {205, 10, true},
    {221, 10, true},
    {236, 10, true},
    {258, 10, true},
    {281, 13, true},
    {303, 14, true},
    {319, 4, true},
    {324, 5, true},
    {337, 7, false},
    {348, 15, true},
    {355, 17, true},
    {360, 18, true},
    {368, 18, true},
    {372, 18, true},
    {376, 21, true},
    {368, 22, true},
    {372, 22, true},
    {382, 3, true},
    {386, 20, true},
    {397, 24, true},
    {409, 0, true},
    {417, 0, true},
    {423, 0, true},
    {429, 0, true},
    {435, 0, true},
    {440, 0, true},
    {447, 0, true},
    {454, 0, true},
    {461, 0, true},
    {467, 0, true},
    {22, 0, true},
    {472, 0, true},
    {355, 3, true},
    {479, 3, true},
    {487, 27, true},
    {493, 29, true},
    {498, 30, true},
    {504, 31, true},
    {513, 33, true},
    {22, 0, true},
    {472, 0, true},
    {519, 0, true},
    {524, 0, true},
    {355, 3, true},
    {479, 3, true},
    {487, 27, true},
    {493, 29, true},
    {498, 30, true},
    {504, 36, true},
    {534, 0, true},
    {537, 0, true},
    {543, 0, true},
    {552, 0, true},
    {555, 0, true},
    {559, 0, true},
    {565, 0, true},
    {570, 0, true},
    {576, 0, true},
    {584, 0, true},
    {589, 0, true},
    {595, 0, true},
    {603, 0, true},
    {610, 0, true},
    {615, 46, true},
    {622, 47, true},
    {355, 3, true},
    {627, 39, true},
    {632, 40, true},
    {639, 41, true},
    {645, 41, true},
    {652, 42, true},
    {659, 43, true},
    {667, 26, true},
    {676, 26, true},
    {682, 44, true},
    {687, 45, true},
    {693, 45, true},
    {698, 48, true},
    {703, 0, true},
    {711, 0, true},
    {355, 3, true},
    {627, 51, true},
    {615, 46, true},
    {622, 47, true},
    {719, 54, true},
    {622, 46, true},
    {724, 2, true},
    {731, 0, true},
    {740, 0, true},
    {703, 59, false},
    {748, 60, false},
    {479, 3, true},
    {754, 59, false},
    {761, 61, false},
    {652, 62, false},
    {767, 63, false},
    {775, 59, true},
    {781, 3, true},
    {788, 63, false},
    {794, 0, true},
    {22, 0, true},
    {798, 0, true},
    {804, 0, true},
    {355, 59, true},
    {809, 68, true},
    {376, 70, true},
    {355, 59, true},
    {809, 68, true},
    {376, 73, true},
    {355, 59, true},
    {809, 68, true},
    {376, 75, true},
    {355, 59, true},
    {809, 68, true},
    {376, 77, true},
    {809, 71, true},
    {809, 74, true},
    {809, 76, true},
    {809, 78, true},
    {479, 3, true},
    {761, 61, true},
    {479, 0, true},
    {748, 0, true},
    {814, 0, true},
    {826, 0, true},
    {836, 0, true},
    {479, 0, true},
    {840, 0, true},
    {39, 0, true},
    {845, 88, true},
    {850, 88, true},
    {858, 88, true},
    {870, 63, true},
    {881, 63, true},
    {355, 3, true},
    {892, 56, true},
    {898, 3, true},
    {905, 54, true},
    {912, 54, true},
    {652, 58, true},
    {919, 65, true},
    {925, 67, true},
    {932, 80, true},
    {941, 82, true},
    {948, 84, true},
    {748, 85, false},
    {957, 85, false},
    {967, 85, false},
    {974, 86, true},
    {983, 87, true},
    {991, 88, true},
    {996, 89, true},
    {1002, 90, false},
    {355, 3, true},
    {892, 56, true},
    {898, 3, true},
    {905, 85, false},
    {912, 54, true},
    {652, 58, true},
    {919, 65, true},
    {925, 67, true},
    {932, 80, true},
    {941, 92, true},
    {948, 84, true},
    {748, 60, true},
    {957, 93, true},
    {967, 94, true},
    {974, 85, false},
    {983, 87, true},
    {991, 88, true},
    {996, 89, true},
    {1002, 90, false},
    {892, 91, true},
    {892, 95, true},
    {355, 3, true},
    {1007, 54, true},
    {1016, 100, true},
    {1026, 100, true},
    {632, 0, true},
    {1033, 1, true},
    {724, 2, false},
    {1041, 3, true},
    {1051, 3, true},
    {1057, 16, true},
    {1066, 25, false},
    {1072, 35, true},
    {1079, 38, true},
    {1087, 50, true},
    {1096, 53, true},
    {983, 55, true},
    {1104, 97, true},
    {1111, 98, false},
    {1122, 102, false},
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
    "width\0"
    "height\0"
    "layers\0"
    "packing\0"
    "channels\0"
    "batch\0"
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
    "invocations\0"
    "multiplies\0"
    "operations\0"
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
