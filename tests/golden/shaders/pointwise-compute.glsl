#version 310 es
// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x0;
uniform int u_span;
uniform int u_across;
uniform int u_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 f_sigmoid_of(vec4 x_, vec4 e_) {
    return mix(vec4(1.0), e_, lessThan(x_, vec4(0.0))) / (1.0 + e_);
}

vec4 f_sigmoid(vec4 x_) { return f_sigmoid_of(x_, exp(-abs(x_))); }

vec4 epilogue(vec4 x0) { return x0 * f_sigmoid(x0); }

void store(ivec2 o, int plane) { imageStore(u_result, o, epilogue(texelFetch(u_x0, o, 0))); }

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int place = int(gl_WorkGroupID.x) * u_span + lane % u_span;
    int plane = int(gl_WorkGroupID.y) * (64 / u_span) + lane / u_span;
    if (place >= u_across * u_down || u_planes <= plane) return;
    ivec2 o = ivec2(place % u_across, place / u_across);
    store(o, plane);
}
