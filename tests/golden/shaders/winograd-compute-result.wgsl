// conv: Winograd output transform, 2x2 tiles
// reads  conv (from the step before): float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

struct Sizes {
    u_columns: i32,
    u_tiles_across: i32,
    u_patch_rows: i32,
    u_width: i32,
    u_height: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d_array<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;

var<private> factors: array<f32, 8> = array<f32, 8>(
    1.0,
    1.0,
    1.0,
    0.0,
    0.0,
    1.0,
    -1.0,
    -1.0
);

fn store(pixel: vec2i, result: vec4f) {
    // Blocks at the border reach beyond the map.
    if (pixel.x >= sizes.u_width || pixel.y >= sizes.u_height) { return; }
    textureStore(u_result, pixel, result);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    // An invocation computes a block: 2 x 2 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    var invocation: i32 = i32(local.x);
    var block: i32 = (i32(group.x) << u32(sizes.u_span_bits)) + (invocation & ((1 << u32(sizes.u_span_bits)) - 1));
    var plane: i32 = i32(group.y) * (64 >> u32(sizes.u_span_bits)) + (invocation >> u32(sizes.u_span_bits));
    if (block >= sizes.u_blocks_across * sizes.u_blocks_down || sizes.u_planes <= plane) { return; }
    var row: i32 = i32(u32(block) / u32(sizes.u_blocks_across));
    var pixel: vec2i = vec2i(block - row * sizes.u_blocks_across, row) * vec2i(2, 2);
    // The number of the tile, and the first element of its patch.
    var tile: i32 = pixel.y / 2 * sizes.u_tiles_across + pixel.x / 2;
    var corner: vec2i = vec2i(i32(u32(tile) % u32(sizes.u_columns)), i32(u32(tile) / u32(sizes.u_columns)) * 16);
    var result_x0_y0: vec4f = vec4f(0.0);
    var result_x1_y0: vec4f = vec4f(0.0);
    var result_x0_y1: vec4f = vec4f(0.0);
    var result_x1_y1: vec4f = vec4f(0.0);
    for (var patch_row = 0; patch_row < sizes.u_patch_rows; patch_row += 1) {
        // d: a row of the patch; t: d transformed. Add t, times a factor, to each sum.
        var d0: vec4f = textureLoad(u_x, corner + vec2i(0, patch_row * 4), plane, 0);
        var d1: vec4f = textureLoad(u_x, corner + vec2i(0, patch_row * 4 + 1), plane, 0);
        var d2: vec4f = textureLoad(u_x, corner + vec2i(0, patch_row * 4 + 2), plane, 0);
        var d3: vec4f = textureLoad(u_x, corner + vec2i(0, patch_row * 4 + 3), plane, 0);
        var t0: vec4f = d0 + d1 + d2;
        var t1: vec4f = d1 - d2 - d3;
        var factor0: f32 = factors[patch_row];
        result_x0_y0 += factor0 * t0;
        result_x1_y0 += factor0 * t1;
        var factor1: f32 = factors[4 + patch_row];
        result_x0_y1 += factor1 * t0;
        result_x1_y1 += factor1 * t1;
    }
    store(pixel, result_x0_y0);
    store(pixel + vec2i(1, 0), result_x1_y0);
    store(pixel + vec2i(0, 1), result_x0_y1);
    store(pixel + vec2i(1, 1), result_x1_y1);
}
