#version 300 es
// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x0;

layout(location = 0) out vec4 target_0;

vec4 f_sigmoid_of(vec4 x_, vec4 e_) {
    return mix(vec4(1.0), e_, lessThan(x_, vec4(0.0))) / (1.0 + e_);
}

vec4 f_sigmoid(vec4 x_) { return f_sigmoid_of(x_, exp(-abs(x_))); }

vec4 epilogue(vec4 x0) { return x0 * f_sigmoid(x0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    target_0 = epilogue(texelFetch(u_x0, pixel, 0));
}
