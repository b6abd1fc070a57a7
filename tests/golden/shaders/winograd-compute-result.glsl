#version 310 es
// conv: Winograd result for tiles of 2x2
// reads  conv: float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_columns;
uniform int u_tiles_across;
uniform int u_patch;
uniform int u_width;
uniform int u_height;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

const float factors[8] = float[8](
    1.0, 1.0, 1.0, 0.0, 0.0, 1.0, -1.0, -1.0
);

void store(ivec2 o, int plane, vec4 a0) {
    if (o.x >= u_width || o.y >= u_height) return;
    imageStore(u_result, o, a0);
}

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across) * ivec2(2, 2);
    ivec2 corner = ivec2((o.y / 2 * u_tiles_across + o.x / 2) % u_columns, (o.y / 2 * u_tiles_across + o.x / 2) / u_columns * 16);
    int first = 0;
    vec4 a0_00 = vec4(0.0);
    vec4 a0_10 = vec4(0.0);
    vec4 a0_01 = vec4(0.0);
    vec4 a0_11 = vec4(0.0);
    for (int i = 0; i < u_patch; ++i) {
        vec4 d0 = texelFetch(u_x, ivec3(corner + ivec2(0, i * 4), plane), 0);
        vec4 d1 = texelFetch(u_x, ivec3(corner + ivec2(0, i * 4 + 1), plane), 0);
        vec4 d2 = texelFetch(u_x, ivec3(corner + ivec2(0, i * 4 + 2), plane), 0);
        vec4 d3 = texelFetch(u_x, ivec3(corner + ivec2(0, i * 4 + 3), plane), 0);
        vec4 t0 = d0 + d1 + d2;
        vec4 t1 = d1 - d2 - d3;
        float factor0 = factors[first + i];
        a0_00 += factor0 * t0;
        a0_10 += factor0 * t1;
        float factor1 = factors[first + 4 + i];
        a0_01 += factor1 * t0;
        a0_11 += factor1 * t1;
    }
    store(o, plane, a0_00);
    store(o + ivec2(1, 0), plane, a0_10);
    store(o + ivec2(0, 1), plane, a0_01);
    store(o + ivec2(1, 1), plane, a0_11);
}
