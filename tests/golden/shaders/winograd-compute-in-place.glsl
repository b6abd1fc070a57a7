#version 310 es
// conv: convolution 3x3, 4 to 4 channels, in Winograd's tiles of 2x2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   512 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_width;
uniform int u_height;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    vec4 texel = texelFetch(u_x, nearest, 0);
    return inside ? texel : vec4(0.0);
}

void store(ivec2 pixel, vec4 result) {
    // Blocks at the border reach beyond the map.
    if (pixel.x >= u_width || pixel.y >= u_height) return;
    imageStore(u_result, pixel, result);
}

void main() {
    // An invocation computes a block: 2 x 2 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || 1 <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row) * ivec2(2, 2);
    // corner: the first pixel of the patch; m: the sums at the positions of the patch.
    ivec2 corner = pixel - ivec2(1, 1);
    vec4 m00_0 = vec4(0.0);
    vec4 m01_0 = vec4(0.0);
    vec4 m02_0 = vec4(0.0);
    vec4 m03_0 = vec4(0.0);
    vec4 m10_0 = vec4(0.0);
    vec4 m11_0 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 m12_0 = vec4(0.0);
    vec4 m13_0 = vec4(0.0);
    vec4 m20_0 = vec4(0.0);
    vec4 m21_0 = vec4(0.0);
    vec4 m22_0 = vec4(0.0);
    vec4 m23_0 = vec4(0.0);
//// 115 lines are not stored
    m33_0 += vec4(0.5, 0.75, -0.75, -0.5) * v0_33.z;
    m33_0 += vec4(-0.75, -0.5, -0.25, 0.0) * v0_33.w;
    // the pixels of the tile
    vec4 s00_0 = m00_0 + m01_0 + m02_0;
    vec4 s01_0 = m01_0 - m02_0 - m03_0;
    vec4 s10_0 = m10_0 + m11_0 + m12_0;
    vec4 s11_0 = m11_0 - m12_0 - m13_0;
    vec4 s20_0 = m20_0 + m21_0 + m22_0;
    vec4 s21_0 = m21_0 - m22_0 - m23_0;
    vec4 s30_0 = m30_0 + m31_0 + m32_0;
    vec4 s31_0 = m31_0 - m32_0 - m33_0;
    vec4 result_x0_y0 = s00_0 + s10_0 + s20_0;
    vec4 result_x1_y0 = s01_0 + s11_0 + s21_0;
    vec4 result_x0_y1 = s10_0 - s20_0 - s30_0;
    vec4 result_x1_y1 = s11_0 - s21_0 - s31_0;
    store(pixel, result_x0_y0);
    store(pixel + ivec2(1, 0), result_x1_y0);
    store(pixel + ivec2(0, 1), result_x0_y1);
    store(pixel + ivec2(1, 1), result_x1_y1);
}
