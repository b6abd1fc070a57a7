//// shaders/00_pad.frag
#version 300 es
// pad: Pad
// reads  x: float32 1x4x3x4, rgba32f 2d
// writes pad: float32 1x4x4x6, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_value;

layout(location = 0) out vec4 target_0;

vec4 load_value(int row, int column) {
    return texelFetch(u_value, ivec2(min(column, 3), max(row - 1, 0)), 0);
}

vec4 compute(int row, int column) { return load_value(row, column); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = result;
}

//// shaders/01_abs.frag
#version 300 es
// abs: element-wise abs(x0)
// reads  pad: float32 1x4x4x6, rgba32f array
// writes abs: float32 1x4x4x6, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x0;

layout(location = 0) out vec4 target_0;

vec4 epilogue(vec4 x0) { return abs(x0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    target_0 = epilogue(texelFetch(u_x0, ivec3(pixel, 0), 0));
}

//// shaders/02_join.frag
#version 300 es
// join: element-wise x0
// reads  abs: float32 1x4x4x6, rgba32f array
// writes join: float32 1x4x4x6, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x0;

layout(location = 0) out vec4 target_0;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    target_0 = texelFetch(u_x0, ivec3(pixel, 0), 0);
}

//// shaders/03_shuffle.frag
#version 300 es
// shuffle: DepthToSpace, then e0 * max(y, 0) + e1 * min(y, 0)
// reads  join: float32 1x8x4x6, rgba32f array
// writes shuffle: float32 1x2x16x12, rg32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_value;

layout(location = 0) out vec4 target_0;

float lane(vec4 v, int i) {
    vec2 pair = i < 2 ? v.xy : v.zw;
    return (i & 1) == 0 ? pair.x : pair.y;
}

float load_value(int row, int column, int channel) {
    int along_lanes = (row & 3) * 2 + (column & 1) + channel;
    return lane(texelFetch(u_value, ivec3(column >> 1, row >> 2, along_lanes >> 2), 0), along_lanes & 3);
}

vec4 compute(int row, int column) {
    return vec4(load_value(row, column, 0), load_value(row, column, 1), 0.0, 0.0);
}

vec4 epilogue(vec4 e0, vec4 y, vec4 e1) { return e0 * max(y, 0.0) + e1 * min(y, 0.0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = vec4(epilogue(vec4(1.0, 0.0, 0.0, 0.0), result.xxxx, vec4(0.0, 1.0, 0.0, 0.0)).xy, 0.0, 0.0);
}
