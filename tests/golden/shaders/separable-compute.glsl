#version 310 es
// depthwise, mix: convolution 1x2 in 4 groups, then 1x1 to 4 channels
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes mix: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   192 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform sampler2D u_weights;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_planes_between;
uniform int u_tap_rows;
uniform int u_second;
uniform int u_width;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;
uniform int u_weights_mask;
uniform int u_weights_shift;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

vec4 weight(int i) {
    return texelFetch(u_weights, ivec2(i & u_weights_mask, i >> u_weights_shift), 0);
}

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
    imageStore(u_result, o, a0);
}

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across) * ivec2(2, 1);
    ivec2 corner = o;
    vec4 a0_00 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 a0_10 = a0_00;
    for (int plane = 0; plane < u_planes_between; ++plane) {
        vec4 m0_00 = vec4(0.0, 0.5, 1.0, 1.5);
        vec4 m0_10 = m0_00;
        int k = plane * 2 * u_tap_rows;
        ivec2 p = corner + ivec2(0, 0);
        vec4 v_0_0 = load_x(p, plane);
        vec4 v_1_0 = load_x(p + ivec2(1, 0), plane);
        vec4 v_2_0 = load_x(p + ivec2(2, 0), plane);
        {
            vec4 w0 = weight(k + 0 * u_tap_rows);
            m0_00 += w0 * v_0_0;
            m0_10 += w0 * v_1_0;
        }
        {
            vec4 w0 = weight(k + u_tap_rows);
            m0_00 += w0 * v_1_0;
            m0_10 += w0 * v_2_0;
        }
        k += 1;
        k += u_tap_rows;
        k = plane * 4 + u_second;
        {
            mat4 w = tile(k);
            a0_00 += w[0] * m0_00.x;
            a0_00 += w[1] * m0_00.y;
            a0_00 += w[2] * m0_00.z;
            a0_00 += w[3] * m0_00.w;
            a0_10 += w[0] * m0_10.x;
            a0_10 += w[1] * m0_10.y;
            a0_10 += w[2] * m0_10.z;
            a0_10 += w[3] * m0_10.w;
        }
    }
    store(o, plane, a0_00);
    store(o + ivec2(1, 0), plane, a0_10);
}
