#version 310 es
// conv: Winograd output transform, 2x2 tiles
// reads  conv (from the step before): float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_columns;
uniform int u_tiles_across;
uniform int u_patch_rows;
uniform int u_width;
uniform int u_height;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

const float factors[8] = float[8](
    1.0, 1.0, 1.0, 0.0, 0.0, 1.0, -1.0, -1.0
);

void store(ivec2 pixel, vec4 result) {
    // Blocks at the border reach beyond the map.
    if (pixel.x >= u_width || pixel.y >= u_height) return;
    imageStore(u_result, pixel, result);
}

void main() {
    // An invocation computes a block: 2 x 2 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row) * ivec2(2, 2);
    // The number of the tile, and the first element of its patch.
    int tile = pixel.y / 2 * u_tiles_across + pixel.x / 2;
    ivec2 corner = ivec2(tile % u_columns, tile / u_columns * 16);
    vec4 result_x0_y0 = vec4(0.0);
    vec4 result_x1_y0 = vec4(0.0);
    vec4 result_x0_y1 = vec4(0.0);
    vec4 result_x1_y1 = vec4(0.0);
    for (int patch_row = 0; patch_row < u_patch_rows; ++patch_row) {
        // d: a row of the patch; t: d transformed. Add t, times a factor, to each sum.
        vec4 d0 = texelFetch(u_x, ivec3(corner + ivec2(0, patch_row * 4), plane), 0);
        vec4 d1 = texelFetch(u_x, ivec3(corner + ivec2(0, patch_row * 4 + 1), plane), 0);
        vec4 d2 = texelFetch(u_x, ivec3(corner + ivec2(0, patch_row * 4 + 2), plane), 0);
        vec4 d3 = texelFetch(u_x, ivec3(corner + ivec2(0, patch_row * 4 + 3), plane), 0);
        vec4 t0 = d0 + d1 + d2;
        vec4 t1 = d1 - d2 - d3;
        float factor0 = factors[patch_row];
        result_x0_y0 += factor0 * t0;
        result_x1_y0 += factor0 * t1;
        float factor1 = factors[4 + patch_row];
        result_x0_y1 += factor1 * t0;
        result_x1_y1 += factor1 * t1;
    }
    store(pixel, result_x0_y0);
    store(pixel + ivec2(1, 0), result_x1_y0);
    store(pixel + ivec2(0, 1), result_x0_y1);
    store(pixel + ivec2(1, 1), result_x1_y1);
}
