#version 310 es
// conv: Winograd patches for tiles of 2x2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_columns;
uniform int u_tiles_across;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_patch;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2DArray u_result;

const float factors[16] = float[16](
    1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0
);

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

void store(ivec2 o, int plane, vec4 a0) { imageStore(u_result, ivec3(o, plane), a0); }

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across) * ivec2(1, 8);
    ivec2 corner = ivec2((o.y / 16 * u_columns + o.x) % u_tiles_across, (o.y / 16 * u_columns + o.x) / u_tiles_across) * 2 - ivec2(1, 1);
    int first = o.y / 8 % 2 * 8;
    vec4 a0_00 = vec4(0.0);
    vec4 a0_01 = vec4(0.0);
    vec4 a0_02 = vec4(0.0);
    vec4 a0_03 = vec4(0.0);
    vec4 a0_04 = vec4(0.0);
    vec4 a0_05 = vec4(0.0);
    vec4 a0_06 = vec4(0.0);
    vec4 a0_07 = vec4(0.0);
    for (int i = 0; i < u_patch; ++i) {
        vec4 d0 = load_x(corner + ivec2(0, i), plane);
        vec4 d1 = load_x(corner + ivec2(1, i), plane);
        vec4 d2 = load_x(corner + ivec2(2, i), plane);
        vec4 d3 = load_x(corner + ivec2(3, i), plane);
        vec4 t0 = d0 - d2;
        vec4 t1 = d1 + d2;
        vec4 t2 = d2 - d1;
        vec4 t3 = d1 - d3;
        float factor0 = factors[first + i];
        a0_00 += factor0 * t0;
        a0_01 += factor0 * t1;
        a0_02 += factor0 * t2;
        a0_03 += factor0 * t3;
        float factor1 = factors[first + 4 + i];
        a0_04 += factor1 * t0;
        a0_05 += factor1 * t1;
        a0_06 += factor1 * t2;
        a0_07 += factor1 * t3;
    }
    store(o, plane, a0_00);
    store(o + ivec2(0, 1), plane, a0_01);
    store(o + ivec2(0, 2), plane, a0_02);
    store(o + ivec2(0, 3), plane, a0_03);
    store(o + ivec2(0, 4), plane, a0_04);
    store(o + ivec2(0, 5), plane, a0_05);
    store(o + ivec2(0, 6), plane, a0_06);
    store(o + ivec2(0, 7), plane, a0_07);
}
