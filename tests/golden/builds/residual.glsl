//// shaders/00_add.frag
#version 300 es
// in, loop, add: convolution 2x2, 5 to 5 channels, loads relu(x * e0), then tanh(y + e1)
// reads  x: float32 1x5x6x4, rgba16f 2d
// writes add: float32 1x5x6x4, rgba16f 2d, planes 0 to 1 of 2
// cost   2400 multiply-adds

precision mediump float;
precision highp int;
precision mediump sampler2D;
precision mediump sampler2DArray;

uniform sampler2D u_x_0;
uniform sampler2D u_x_1;
uniform sampler2D u_weights;
uniform int u_kernel_width;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;

const vec4 c_constant[2] = vec4[2](
    vec4(0.0, 0.5, 1.0, 1.5),
    vec4(2.0, 0.0, 0.0, 0.0)
);

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i & 15, i >> 4), 0); }

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 prologue(vec4 x, vec4 e0) { return f_relu(x * e0); }

vec4 fetch_x(ivec2 p, int layer) {
    if (layer == 0) return texelFetch(u_x_0, p, 0);
    return texelFetch(u_x_1, p, 0);
}

vec4 load_x(ivec2 p, int plane) { return prologue(fetch_x(p, plane), c_constant[plane]); }

mat4 weight_block(int i) {
    ivec2 at = ivec2(i & 15, i >> 4);
    return mat4(
        texelFetch(u_weights, at, 0),
        texelFetch(u_weights, at + ivec2(1, 0), 0),
        texelFetch(u_weights, at + ivec2(2, 0), 0),
        texelFetch(u_weights, at + ivec2(3, 0), 0)
    );
}

vec4 epilogue(vec4 y, vec4 e1) {
    return 1.0 - 2.0 * min(1.0 / (exp(2.0 * min(y + e1, 5.0)) + 1.0), 1.0);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel - ivec2(0, 1);
    vec4 result_p0 = weight(64);
    vec4 result_p1 = weight(65);
    int weight_row = 0;
    for (int ky = 0; ky < 2; ++ky) {
        int source_y0 = max(corner.y + ky, 0 - (corner.y + ky));
        for (int kx = 0; kx < u_kernel_width; ++kx) {
            int source_x0 = min(corner.x + kx, 6 - (corner.x + kx));
            for (int input_plane = 0; input_plane < 2; ++input_plane) {
                vec4 texel = load_x(ivec2(source_x0, source_y0), input_plane);
                {
                    mat4 w = weight_block(weight_row);
                    result_p0 += w[0] * texel.x;
                    result_p0 += w[1] * texel.y;
                    result_p0 += w[2] * texel.z;
                    result_p0 += w[3] * texel.w;
                }
                {
                    mat4 w = weight_block(weight_row + 4);
                    result_p1 += w[0] * texel.x;
                    result_p1 += w[1] * texel.y;
                    result_p1 += w[2] * texel.z;
                    result_p1 += w[3] * texel.w;
                }
                weight_row += 8;
            }
        }
    }
    target_0 = epilogue(result_p0, texelFetch(u_x_0, pixel, 0));
    target_1 = vec4(epilogue(result_p1, texelFetch(u_x_1, pixel, 0)).x, 0.0, 0.0, 0.0);
}
