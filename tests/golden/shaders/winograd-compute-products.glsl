#version 310 es
// conv: convolution 1x1, 4 to 4 channels, of Winograd's patches for tiles of 2x2
// reads  conv: float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1
// cost   512 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform sampler2D u_weights;
uniform int u_planes_in;
uniform int u_tap_rows;
uniform int u_width;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;
uniform int u_weights_mask;
uniform int u_weights_shift;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2DArray u_result;

vec4 load_x(ivec2 p, int plane) { return texelFetch(u_x, ivec3(p, 0), 0); }

mat4 tile(int i) {
    ivec2 at = ivec2(i & u_weights_mask, i >> u_weights_shift);
    return mat4(
        texelFetch(u_weights, at, 0),
        texelFetch(u_weights, at + ivec2(1, 0), 0),
        texelFetch(u_weights, at + ivec2(2, 0), 0),
        texelFetch(u_weights, at + ivec2(3, 0), 0)
    );
}

void store(ivec2 o, int plane, vec4 a0) {
    if (o.x >= u_width) return;
    imageStore(u_result, ivec3(o, plane), a0);
}

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across) * ivec2(2, 1);
    ivec2 corner = o;
    vec4 a0_00 = o.y % 16 == 5 ? vec4(0.0, 0.5, 1.0, 1.5) : vec4(0.0);
    vec4 a0_10 = a0_00;
    int k = (plane * 16 + o.y % 16) * u_tap_rows;
    ivec2 p = corner + ivec2(0, 0);
    for (int i = 0; i < u_planes_in; ++i) {
        vec4 v_0_0 = load_x(p, i);
        vec4 v_1_0 = load_x(p + ivec2(1, 0), i);
        {
            mat4 w = tile(k + 0 * u_tap_rows);
            a0_00 += w[0] * v_0_0.x;
            a0_00 += w[1] * v_0_0.y;
            a0_00 += w[2] * v_0_0.z;
            a0_00 += w[3] * v_0_0.w;
            a0_10 += w[0] * v_1_0.x;
            a0_10 += w[1] * v_1_0.y;
            a0_10 += w[2] * v_1_0.z;
            a0_10 += w[3] * v_1_0.w;
        }
        k += 4;
    }
    store(o, plane, a0_00);
    store(o + ivec2(1, 0), plane, a0_10);
}
