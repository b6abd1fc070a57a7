#version 310 es
// conv: Winograd input transform, 2x2 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_columns;
uniform int u_tiles_across;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_patch_rows;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2DArray u_result;

const float factors[16] = float[16](
    1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0
);

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    vec4 texel = texelFetch(u_x, nearest, 0);
    return inside ? texel : vec4(0.0);
}

void store(ivec2 pixel, int plane, vec4 result) {
    imageStore(u_result, ivec3(pixel, plane), result);
}

void main() {
    // An invocation computes a block: 8 x 1 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row; spare invocations take further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row) * ivec2(1, 8);
    // The number of the tile, and its first pixel.
    int tile = pixel.y / 16 * u_columns + pixel.x;
    ivec2 corner = ivec2(tile % u_tiles_across, tile / u_tiles_across) * 2 - ivec2(1, 1);
    int first_factor = pixel.y / 8 % 2 * 8;
    vec4 s00 = vec4(0.0);
    vec4 s01 = vec4(0.0);
    vec4 s02 = vec4(0.0);
    vec4 s03 = vec4(0.0);
    vec4 s10 = vec4(0.0);
    vec4 s11 = vec4(0.0);
    vec4 s12 = vec4(0.0);
    vec4 s13 = vec4(0.0);
    for (int patch_row = 0; patch_row < u_patch_rows; ++patch_row) {
        // d: a row of the patch, added to each line of sums with a factor of its own.
        vec4 d0 = load_x(corner + ivec2(0, patch_row));
        vec4 d1 = load_x(corner + ivec2(1, patch_row));
        vec4 d2 = load_x(corner + ivec2(2, patch_row));
        vec4 d3 = load_x(corner + ivec2(3, patch_row));
        float factor0 = factors[first_factor + patch_row];
        s00 += factor0 * d0;
        s01 += factor0 * d1;
        s02 += factor0 * d2;
        s03 += factor0 * d3;
        float factor1 = factors[first_factor + 4 + patch_row];
        s10 += factor1 * d0;
        s11 += factor1 * d1;
        s12 += factor1 * d2;
        s13 += factor1 * d3;
    }
    vec4 result_y0 = s00 - s02;
    vec4 result_y1 = s01 + s02;
    vec4 result_y2 = s02 - s01;
    vec4 result_y3 = s01 - s03;
    vec4 result_y4 = s10 - s12;
    vec4 result_y5 = s11 + s12;
    vec4 result_y6 = s12 - s11;
    vec4 result_y7 = s11 - s13;
    store(pixel, plane, result_y0);
    store(pixel + ivec2(0, 1), plane, result_y1);
    store(pixel + ivec2(0, 2), plane, result_y2);
    store(pixel + ivec2(0, 3), plane, result_y3);
    store(pixel + ivec2(0, 4), plane, result_y4);
    store(pixel + ivec2(0, 5), plane, result_y5);
    store(pixel + ivec2(0, 6), plane, result_y6);
    store(pixel + ivec2(0, 7), plane, result_y7);
}
