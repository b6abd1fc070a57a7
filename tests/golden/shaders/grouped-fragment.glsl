#version 300 es
// grouped: convolution 1x1, 8 to 8 channels in 2 groups
// reads  before: float32 1x8x4x2, rgba32f array
// writes grouped: float32 1x8x4x2, rgba32f array, planes 0 to 1 of 2
// cost   256 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;

layout(location = 0) out vec4 o_0;
layout(location = 1) out vec4 o_1;

vec4 load_x(ivec2 p, int plane) { return texelFetch(u_x, ivec3(p, plane), 0); }

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    ivec2 corner = o;
    vec4 a0 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 a1 = vec4(2.0, 2.5, 3.0, 3.5);
    vec4 v;
    // tap (0, 0), input plane 0
    v = load_x(corner, 0);
    a0 += vec4(-0.75, 0.25, -0.5, 0.5) * v.x;
    a0 += vec4(-0.5, 0.5, -0.25, 0.75) * v.y;
    a0 += vec4(-0.25, 0.75, 0.0, -0.75) * v.z;
    a0 += vec4(0.0, -0.75, 0.25, -0.5) * v.w;
    // tap (0, 0), input plane 1
    v = load_x(corner, 1);
    a1 += vec4(-0.25, 0.75, 0.0, -0.75) * v.x;
    a1 += vec4(0.0, -0.75, 0.25, -0.5) * v.y;
    a1 += vec4(0.25, -0.5, 0.5, -0.25) * v.z;
    a1 += vec4(0.5, -0.25, 0.75, 0.0) * v.w;
    o_0 = a0;
    o_1 = a1;
}
