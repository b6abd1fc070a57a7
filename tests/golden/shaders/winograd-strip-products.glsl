#version 300 es
// conv: Winograd products, 4x4 tiles, 4 to 4 channels
// reads  conv (from the step before): float32 1x24x6x2, rgba32f array
// writes conv: float32 1x8x6x6, rgba32f array, planes 0 to 1 of 2
// cost   1152 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform sampler2D u_weights;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;

ivec2 weight_position(int i) { return ivec2(i & 15, i >> 4); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    // An invocation computes one position of the patch, for a pair of tiles.
    int part = pixel.x;
    int group = part / 6;
    int patch_column = part - group * 6;
    int position = pixel.y % 6 * 6 + patch_column;
    int column = (pixel.x - part) * 2;
    int patch_row = pixel.y % 6;
    float bias_share = (patch_row == 0 ? -0.11111111 : (patch_row == 1 ? 0.8888889 : (patch_row == 3 ? 0.22222222 : (patch_row == 5 ? -0.125 : 0.0)))) * (patch_column == 0 ? -0.11111111 : (patch_column == 1 ? 0.8888889 : (patch_column == 3 ? 0.22222222 : (patch_column == 5 ? -0.125 : 0.0))));
    vec4 result_p0_x0 = bias_share * vec4(0.0, 0.5, 1.0, 1.5);
    vec4 result_p0_x1 = result_p0_x0;
    int weight_row = (group * 36 + position) * 4;
    ivec2 place = ivec2(column, pixel.y);
    vec4 texel_x0 = texelFetch(u_x, ivec3(place, patch_column), 0);
    vec4 texel_x1 = texelFetch(u_x, ivec3(place + ivec2(1, 0), patch_column), 0);
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
    weight_row += 4;
    place += ivec2(2, 0);
    target_0 = result_p0_x0;
    target_1 = result_p0_x1;
}
