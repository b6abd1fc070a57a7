//// shaders/00_grouped.frag
#version 310 es
// grouped: convolution 2x2, 4 to 8 channels in 2 groups
// reads  x: float32 1x4x7x7, rgba32f 2d
// writes grouped: float32 1x8x5x6, rgba32f array, planes 0 to 1 of 2
// cost   1920 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
layout(std140) uniform Weights { vec4 weights[32]; };
layout(std140) uniform Parameters { vec4 parameters[2]; };

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;

vec4 load_x(ivec2 p) {
    vec4 v = texelFetch(u_x, p, 0);
    return mix(v, vec4(0.125), equal(v, vec4(0.0)));
}

vec4 weight(int i) { return weights[i]; }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel;
    vec4 result_p0 = parameters[0];
    vec4 result_p1 = parameters[1];
    int weight_row = 0;
    for (int ky = 0; ky < 2; ++ky) {
        for (int kx = 0; kx < 2; ++kx) {
            ivec2 tap = corner + ivec2(kx, ky * 2);
            vec4 texel = load_x(tap);
            {
                vec4 w0 = weight(weight_row);
                result_p0 += w0 * texel.x;
                vec4 w1 = weight(weight_row + 1);
                result_p0 += w1 * texel.y;
                vec4 w2 = weight(weight_row + 2);
                result_p0 += w2 * texel.z;
                vec4 w3 = weight(weight_row + 3);
                result_p0 += w3 * texel.w;
            }
            {
                vec4 w0 = weight(weight_row + 4);
                result_p1 += w0 * texel.x;
                vec4 w1 = weight(weight_row + 4 + 1);
                result_p1 += w1 * texel.y;
                vec4 w2 = weight(weight_row + 4 + 2);
                result_p1 += w2 * texel.z;
                vec4 w3 = weight(weight_row + 4 + 3);
                result_p1 += w3 * texel.w;
            }
            weight_row += 8;
        }
    }
    target_0 = result_p0;
    target_1 = result_p1;
}

//// shaders/01_gate.frag
#version 310 es
// scale, gate: element-wise (x0 * x1 + x2) * sigmoid(x0)
// reads  grouped: float32 1x8x5x6, rgba32f array
// writes gate: float32 1x8x5x6, rgba32f array, planes 0 to 1 of 2

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x0;
layout(std140) uniform Parameters { vec4 parameters[3]; };

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;

vec4 f_sigmoid_of(vec4 x_, vec4 e_) {
    return mix(vec4(1.0), e_, lessThan(x_, vec4(0.0))) / (1.0 + e_);
}

vec4 f_sigmoid(vec4 x_) { return f_sigmoid_of(x_, exp(-abs(x_))); }

vec4 epilogue(vec4 x0, vec4 x1, vec4 x2) { return (x0 * x1 + x2) * f_sigmoid(x0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    target_0 = epilogue(texelFetch(u_x0, ivec3(pixel, 0), 0), parameters[0], parameters[2]);
    target_1 = epilogue(texelFetch(u_x0, ivec3(pixel, 1), 0), parameters[1], parameters[2]);
}
