#version 310 es
// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_tap_rows;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;
layout(std140) uniform Weights { vec4 weights[8]; };

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

vec4 weight(int i) { return weights[i]; }

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_relu(y); }

void store(ivec2 o, int plane, vec4 a0) { imageStore(u_result, o, epilogue(a0)); }

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across);
    ivec2 corner = o;
    vec4 a0 = vec4(0.0, 0.5, 1.0, 1.5);
    int k = plane * 2 * u_tap_rows;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 p = corner + ivec2(kx, 0);
        vec4 v = load_x(p, 0);
        {
            vec4 w0 = weight(k);
            a0 += w0 * v.x;
            vec4 w1 = weight(k + 1);
            a0 += w1 * v.y;
            vec4 w2 = weight(k + 2);
            a0 += w2 * v.z;
            vec4 w3 = weight(k + 3);
            a0 += w3 * v.w;
        }
        k += 4;
    }
    store(o, plane, a0);
}
