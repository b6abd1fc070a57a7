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

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;

vec4 load_x(ivec2 p, int plane) { return texelFetch(u_x, ivec3(p, plane), 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel;
    vec4 result_p0 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 result_p1 = vec4(2.0, 2.5, 3.0, 3.5);
    vec4 texel;
    // tap (0, 0), input plane 0
    texel = load_x(corner, 0);
    result_p0 += vec4(-0.75, 0.25, -0.5, 0.5) * texel.x;
    result_p0 += vec4(-0.5, 0.5, -0.25, 0.75) * texel.y;
    result_p0 += vec4(-0.25, 0.75, 0.0, -0.75) * texel.z;
    result_p0 += vec4(0.0, -0.75, 0.25, -0.5) * texel.w;
    // tap (0, 0), input plane 1
    texel = load_x(corner, 1);
    result_p1 += vec4(-0.25, 0.75, 0.0, -0.75) * texel.x;
    result_p1 += vec4(0.0, -0.75, 0.25, -0.5) * texel.y;
    result_p1 += vec4(0.25, -0.5, 0.5, -0.25) * texel.z;
    result_p1 += vec4(0.5, -0.25, 0.75, 0.0) * texel.w;
    target_0 = result_p0;
    target_1 = result_p1;
}
