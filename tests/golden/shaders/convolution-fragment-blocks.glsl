#version 300 es
// conv: convolution 3x3, 32 to 8 channels
// reads  x: float32 1x32x256x256, rgba32f array
// writes conv: float32 1x16x256x128, rgba32f array, planes 0, 1, 2, 3 of 4
// cost   150994944 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform sampler2D u_weights;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;
layout(location = 2) out vec4 target_2;
layout(location = 3) out vec4 target_3;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i & 31, i >> 5), 0); }

vec4 load_x(ivec2 p, int plane) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(256, 256) - 1);
    bool inside = nearest == p;
    vec4 texel = texelFetch(u_x, ivec3(nearest, plane), 0);
    return inside ? texel : vec4(0.0);
}

ivec2 weight_position(int i) { return ivec2(i & 31, i >> 5); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy) * ivec2(2, 1);
    ivec2 corner = pixel - ivec2(1, 1);
    vec4 result_p0_x0 = weight(576);
    vec4 result_p0_x1 = result_p0_x0;
    vec4 result_p1_x0 = weight(577);
    vec4 result_p1_x1 = result_p1_x0;
    int weight_row = 0;
    for (int ky = 0; ky < 3; ++ky) {
        for (int kx = 0; kx < 3; ++kx) {
            ivec2 tap = corner + ivec2(kx, ky);
            for (int input_plane = 0; input_plane < 8; ++input_plane) {
                vec4 texel_x0 = load_x(tap, input_plane);
                vec4 texel_x1 = load_x(tap + ivec2(1, 0), input_plane);
                {
                    ivec2 at = weight_position(weight_row);
                    vec4 w0 = weight_at(at);
                    result_p0_x0 += w0 * texel_x0.x;
                    result_p0_x1 += w0 * texel_x1.x;
                    vec4 w1 = weight_at(at + ivec2(1, 0));
                    result_p0_x0 += w1 * texel_x0.y;
                    result_p0_x1 += w1 * texel_x1.y;
                    vec4 w2 = weight_at(at + ivec2(2, 0));
                    result_p0_x0 += w2 * texel_x0.z;
                    result_p0_x1 += w2 * texel_x1.z;
                    vec4 w3 = weight_at(at + ivec2(3, 0));
                    result_p0_x0 += w3 * texel_x0.w;
                    result_p0_x1 += w3 * texel_x1.w;
                }
                {
                    ivec2 at = weight_position(weight_row + 4);
                    vec4 w0 = weight_at(at);
                    result_p1_x0 += w0 * texel_x0.x;
                    result_p1_x1 += w0 * texel_x1.x;
                    vec4 w1 = weight_at(at + ivec2(1, 0));
                    result_p1_x0 += w1 * texel_x0.y;
                    result_p1_x1 += w1 * texel_x1.y;
                    vec4 w2 = weight_at(at + ivec2(2, 0));
                    result_p1_x0 += w2 * texel_x0.z;
                    result_p1_x1 += w2 * texel_x1.z;
                    vec4 w3 = weight_at(at + ivec2(3, 0));
                    result_p1_x0 += w3 * texel_x0.w;
                    result_p1_x1 += w3 * texel_x1.w;
                }
                weight_row += 8;
            }
        }
    }
    target_0 = result_p0_x0;
    target_1 = result_p1_x0;
    target_2 = result_p0_x1;
    target_3 = result_p1_x1;
}
