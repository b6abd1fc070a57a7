// conv: Winograd input transform, 2x2 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1

var<private> infinite_bits: u32 = 0x7F800000u;
struct Sizes {
    u_columns: i32,
    u_tiles_across: i32,
    u_width_in: i32,
    u_height_in: i32,
    u_patch_rows: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d_array<rgba32float, write>;
@group(0) @binding(3) var nearest: sampler;
var<private> factors: array<f32, 16> = array<f32, 16>(
    1.0,
    0.0,
    -1.0,
    0.0,
    0.0,
    1.0,
    1.0,
    0.0,
    0.0,
    -1.0,
    1.0,
    0.0,
    0.0,
    1.0,
    0.0,
    -1.0
);
fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(sizes.u_width_in, sizes.u_height_in) - 1);
    var inside: bool = all(nearest == p);
    var texel: vec4f = textureLoad(u_x, nearest, 0);
    return select(vec4f(0.0), texel, inside);
}
fn store(pixel: vec2i, plane: i32, result: vec4f) { textureStore(u_result, pixel, plane, result); }
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    // An invocation computes a block: 8 x 1 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row; spare invocations take further planes.
    var invocation: i32 = i32(local.x);
    var block: i32 = (i32(group.x) << u32(sizes.u_span_bits)) + (invocation & ((1 << u32(sizes.u_span_bits)) - 1));
    var plane: i32 = i32(group.y) * (64 >> u32(sizes.u_span_bits)) + (invocation >> u32(sizes.u_span_bits));
    if (block >= sizes.u_blocks_across * sizes.u_blocks_down || sizes.u_planes <= plane) { return; }
    var row: i32 = block / sizes.u_blocks_across;
    var pixel: vec2i = vec2i(block - row * sizes.u_blocks_across, row) * vec2i(1, 8);
    // The number of the tile, and its first pixel.
    var tile: i32 = pixel.y / 16 * sizes.u_columns + pixel.x;
    var corner: vec2i = vec2i(tile % sizes.u_tiles_across, tile / sizes.u_tiles_across) * 2 - vec2i(1, 1);
    var first_factor: i32 = pixel.y / 8 % 2 * 8;
//// 22 lines are not stored
        s12 += factor1 * d2;
        s13 += factor1 * d3;
    }
    var result_y0: vec4f = s00 - s02;
    var result_y1: vec4f = s01 + s02;
    var result_y2: vec4f = s02 - s01;
    var result_y3: vec4f = s01 - s03;
    var result_y4: vec4f = s10 - s12;
    var result_y5: vec4f = s11 + s12;
    var result_y6: vec4f = s12 - s11;
    var result_y7: vec4f = s11 - s13;
    store(pixel, plane, result_y0);
    store(pixel + vec2i(0, 1), plane, result_y1);
    store(pixel + vec2i(0, 2), plane, result_y2);
    store(pixel + vec2i(0, 3), plane, result_y3);
    store(pixel + vec2i(0, 4), plane, result_y4);
    store(pixel + vec2i(0, 5), plane, result_y5);
    store(pixel + vec2i(0, 6), plane, result_y6);
    store(pixel + vec2i(0, 7), plane, result_y7);
}
