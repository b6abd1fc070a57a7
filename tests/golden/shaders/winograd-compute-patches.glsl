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
uniform int u_height_in;
uniform int u_width_in;
uniform int u_patch_rows;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2DArray u_result;

vec4 load_inside(ivec2 p) { return texelFetch(u_x, p, 0); }

void store(ivec2 pixel, int plane, vec4 result) {
    imageStore(u_result, ivec3(pixel, plane), result);
}

void main() {
    // An invocation computes a block: 8 x 1 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row) * ivec2(1, 8);
    // The number of the tile, and its first pixel.
    int tile = pixel.y / 16 * u_columns + pixel.x;
    ivec2 corner = ivec2(tile % u_tiles_across, tile / u_tiles_across) * 2 - ivec2(1, 1);
    // In place of columns outside the map, load the nearest.
    int x0 = max(min(corner.x, u_width_in - 1), 0);
    int x1 = min(corner.x + 1, u_width_in - 1);
    int x2 = min(corner.x + 2, u_width_in - 1);
    int x3 = min(corner.x + 3, u_width_in - 1);
    int line = pixel.y / 8 % 2 * 2;
    vec4 factors0_0 = line == 0 ? vec4(1.0, 0.0, -1.0, 0.0) : vec4(0.0, -1.0, 1.0, 0.0);
    vec4 factors1_0 = line == 0 ? vec4(0.0, 1.0, 1.0, 0.0) : vec4(0.0, 1.0, 0.0, -1.0);
    vec4 s00 = vec4(0.0);
    vec4 s01 = vec4(0.0);
    vec4 s02 = vec4(0.0);
    vec4 s03 = vec4(0.0);
    vec4 s10 = vec4(0.0);
    vec4 s11 = vec4(0.0);
    vec4 s12 = vec4(0.0);
    vec4 s13 = vec4(0.0);
    for (int patch_row = 0; patch_row < u_patch_rows; ++patch_row) {
        // d: a row of the patch. Add d, times a factor, to each row of sums.
//// 25 lines are not stored
    vec4 result_y1 = t01 + t02;
    vec4 result_y2 = t02 - t01;
    vec4 result_y3 = t01 - t03;
    vec4 t10 = x0 == corner.x ? s10 : vec4(0.0);
    vec4 t11 = x1 == corner.x + 1 ? s11 : vec4(0.0);
    vec4 t12 = x2 == corner.x + 2 ? s12 : vec4(0.0);
    vec4 t13 = x3 == corner.x + 3 ? s13 : vec4(0.0);
    vec4 result_y4 = t10 - t12;
    vec4 result_y5 = t11 + t12;
    vec4 result_y6 = t12 - t11;
    vec4 result_y7 = t11 - t13;
    store(pixel, plane, result_y0);
    store(pixel + ivec2(0, 1), plane, result_y1);
    store(pixel + ivec2(0, 2), plane, result_y2);
    store(pixel + ivec2(0, 3), plane, result_y3);
    store(pixel + ivec2(0, 4), plane, result_y4);
    store(pixel + ivec2(0, 5), plane, result_y5);
    store(pixel + ivec2(0, 6), plane, result_y6);
    store(pixel + ivec2(0, 7), plane, result_y7);
}
