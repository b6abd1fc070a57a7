#version 300 es
// conv: Winograd output transform of rows, 4x4 tiles
// reads  conv (from the step before): float32 1x8x6x6, rgba32f array
// writes conv: float32 1x16x6x2, rgba32f array, planes 0 to 3 of 4

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_columns;
uniform int u_pairs;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;
layout(location = 2) out vec4 target_2;
layout(location = 3) out vec4 target_3;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    int plane_of_strip = pixel.x / u_columns;
    int column = pixel.x - plane_of_strip * u_columns;
    // d: a row of products.
    int first = plane_of_strip * (6 * u_pairs) + column / 2;
    int layer = column % 2 + plane_of_strip % 1;
    vec4 d0 = texelFetch(u_x, ivec3(first, pixel.y, layer), 0);
    vec4 d1 = texelFetch(u_x, ivec3(first + u_pairs, pixel.y, layer), 0);
    vec4 d2 = texelFetch(u_x, ivec3(first + 2 * u_pairs, pixel.y, layer), 0);
    vec4 d3 = texelFetch(u_x, ivec3(first + 3 * u_pairs, pixel.y, layer), 0);
    vec4 d4 = texelFetch(u_x, ivec3(first + 4 * u_pairs, pixel.y, layer), 0);
    vec4 d5 = texelFetch(u_x, ivec3(first + 5 * u_pairs, pixel.y, layer), 0);
    vec4 p = d1 + d2;
    vec4 q = d1 - d2;
    vec4 r = d3 + d4;
    vec4 s = d3 - d4;
    vec4 value0 = d0 + p + r;
    vec4 value1 = 0.75 * q + 1.5 * s;
    vec4 value2 = 0.5625 * p + 2.25 * r;
    vec4 value3 = 0.421875 * q + 3.375 * s + d5;
    target_0 = value0;
    target_1 = value1;
    target_2 = value2;
    target_3 = value3;
}
