//// shaders/00_twice.frag
#version 300 es
// twice: ResizeLinear
// reads  x: float32 1x3x4x5, rgba32f 2d
// writes twice: float32 1x3x8x10, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_value;

layout(location = 0) out vec4 target_0;

vec4 load_value(int below_row, int below_column) {
    return texelFetch(u_value, ivec2(min(max(below_column, 0), 4), min(max(below_row, 0), 3)), 0);
}

vec4 compute(int row, int column) {
    float below_row = floor((2.0 * float(row) - 1.0) * 0.25);
    int below_row_at = int(floor(below_row + 0.5));
    float share_row = (2.0 * float(row) - 1.0) * 0.25 - below_row;
    float below_column = floor((2.0 * float(column) - 1.0) * 0.25);
    int below_column_at = int(floor(below_column + 0.5));
    float share_column = (2.0 * float(column) - 1.0) * 0.25 - below_column;
    vec4 value_below_below = load_value(below_row_at, below_column_at);
    vec4 value_below_above = load_value(below_row_at, below_column_at + 1);
    vec4 value_above_below = load_value(below_row_at + 1, below_column_at);
    vec4 value_above_above = load_value(below_row_at + 1, below_column_at + 1);
    vec4 t0 = value_below_below + share_column * (value_below_above - value_below_below);
    return t0 + share_row * (value_above_below + share_column * (value_above_above - value_above_below) - t0);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = vec4(result.xyz, 0.0);
}

//// shaders/01_wider.frag
#version 300 es
// wider: ResizeLinear
// reads  twice: float32 1x3x8x10, rgba32f array
// writes wider: float32 1x3x8x15, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_value;

layout(location = 0) out vec4 target_0;

vec4 load_value(int row, int below_column) {
    return texelFetch(u_value, ivec3(min(max(below_column, 0), 9), row, 0), 0);
}

vec4 compute(int row, int column) {
    float below_column_0 = 2.0 * float(column);
    float below_column_1 = floor(below_column_0 / 3.0);
    float below_column = below_column_1 + floor((below_column_0 - 3.0 * below_column_1) / 3.0);
    int below_column_at = int(floor(below_column + 0.5));
    float share_column = (2.0 * float(column) - 3.0 * below_column) / 3.0;
    vec4 value_below = load_value(row, below_column_at);
    vec4 value_above = load_value(row, below_column_at + 1);
    return value_below + share_column * (value_above - value_below);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = vec4(result.xyz, 0.0);
}

//// shaders/02_table.frag
#version 300 es
// table: Resample, loops tap < 4
// reads  wider: float32 1x3x8x15, rgba32f array
// reads  starts: int32 4, rgba32f 2d
// reads  weights: float32 4x4, rgba32f 2d
// writes table: float32 1x3x4x15, rgba32f 2d, plane 0 of 1
// cost   720 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_start;
uniform sampler2D u_weight;
uniform sampler2DArray u_value;

layout(location = 0) out vec4 target_0;

float lane(vec4 v, int i) {
    vec2 pair = i < 2 ? v.xy : v.zw;
    return (i & 1) == 0 ? pair.x : pair.y;
}

float load_start(int row) { return lane(texelFetch(u_start, ivec2(0, 0), 0), row & 3); }

vec4 load_weight(int row) { return texelFetch(u_weight, ivec2(0, row), 0); }

vec4 load_value(int start, int tap, int column) {
    return texelFetch(u_value, ivec3(column, min(max(start + tap, 0), 7), 0), 0);
}

vec4 compute(int row, int column) {
    float start = load_start(row);
    int start_at = int(floor(start + 0.5));
    vec4 total = vec4(0.0);
    // Four steps share a texel of weight.
    vec4 weight_texel = load_weight(row);
    total += weight_texel.x * load_value(start_at, 0, column);
    total += weight_texel.y * load_value(start_at, 1, column);
    total += weight_texel.z * load_value(start_at, 2, column);
    total += weight_texel.w * load_value(start_at, 3, column);
    return total;
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = vec4(result.xyz, 0.0);
}
