// conv: Winograd input transform, 2x2 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1

struct Sizes {
    u_columns: i32,
    u_tiles_across: i32,
    u_height_in: i32,
    u_width_in: i32,
    u_patch_rows: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d_array<rgba32float, write>;

fn load_inside(p: vec2i) -> vec4f { return textureLoad(u_x, p, 0); }

fn store(pixel: vec2i, plane: i32, result: vec4f) { textureStore(u_result, pixel, plane, result); }

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    // An invocation computes a block: 8 x 1 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    var invocation: i32 = i32(local.x);
    var block: i32 = (i32(group.x) << u32(sizes.u_span_bits)) + (invocation & ((1 << u32(sizes.u_span_bits)) - 1));
    var plane: i32 = i32(group.y) * (64 >> u32(sizes.u_span_bits)) + (invocation >> u32(sizes.u_span_bits));
    if (block >= sizes.u_blocks_across * sizes.u_blocks_down || sizes.u_planes <= plane) { return; }
    var row: i32 = i32(u32(block) / u32(sizes.u_blocks_across));
    var pixel: vec2i = vec2i(block - row * sizes.u_blocks_across, row) * vec2i(1, 8);
    // The number of the tile, and its first pixel.
    var tile: i32 = pixel.y / 16 * sizes.u_columns + pixel.x;
    var corner: vec2i = vec2i(i32(u32(tile) % u32(sizes.u_tiles_across)), i32(u32(tile) / u32(sizes.u_tiles_across))) * 2 - vec2i(1, 1);
    // In place of columns outside the map, load the nearest.
    var x0: i32 = max(min(corner.x, sizes.u_width_in - 1), 0);
    var x1: i32 = min(corner.x + 1, sizes.u_width_in - 1);
    var x2: i32 = min(corner.x + 2, sizes.u_width_in - 1);
    var x3: i32 = min(corner.x + 3, sizes.u_width_in - 1);
    var line: i32 = pixel.y / 8 % 2 * 2;
    var factors0_0: vec4f = select(vec4f(0.0, -1.0, 1.0, 0.0), vec4f(1.0, 0.0, -1.0, 0.0), line == 0);
    var factors1_0: vec4f = select(vec4f(0.0, 1.0, 0.0, -1.0), vec4f(0.0, 1.0, 1.0, 0.0), line == 0);
    var s00: vec4f = vec4f(0.0);
    var s01: vec4f = vec4f(0.0);
    var s02: vec4f = vec4f(0.0);
    var s03: vec4f = vec4f(0.0);
    var s10: vec4f = vec4f(0.0);
    var s11: vec4f = vec4f(0.0);
    var s12: vec4f = vec4f(0.0);
    var s13: vec4f = vec4f(0.0);
    for (var patch_row = 0; patch_row < sizes.u_patch_rows; patch_row += 1) {
        // d: a row of the patch. Add d, times a factor, to each row of sums.
        var y: i32 = corner.y + patch_row;
        var nearest_y: i32 = clamp(y, 0, sizes.u_height_in - 1);
        var d0: vec4f = load_inside(vec2i(x0, nearest_y));
        var d1: vec4f = load_inside(vec2i(x1, nearest_y));
        var d2: vec4f = load_inside(vec2i(x2, nearest_y));
        var d3: vec4f = load_inside(vec2i(x3, nearest_y));
        // Move the next factor to the front: Mali is slow with variable array indices.
        var factor0: f32 = select(0.0, factors0_0.x, nearest_y == y);
        s00 += factor0 * d0;
        s01 += factor0 * d1;
        s02 += factor0 * d2;
        s03 += factor0 * d3;
        factors0_0 = vec4f(factors0_0.yzw, factors0_0.x);
        var factor1: f32 = select(0.0, factors1_0.x, nearest_y == y);
        s10 += factor1 * d0;
        s11 += factor1 * d1;
        s12 += factor1 * d2;
        s13 += factor1 * d3;
        factors1_0 = vec4f(factors1_0.yzw, factors1_0.x);
    }
    var t00: vec4f = select(vec4f(0.0), s00, x0 == corner.x);
    var t01: vec4f = select(vec4f(0.0), s01, x1 == corner.x + 1);
    var t02: vec4f = select(vec4f(0.0), s02, x2 == corner.x + 2);
    var t03: vec4f = select(vec4f(0.0), s03, x3 == corner.x + 3);
    var result_y0: vec4f = t00 - t02;
    var result_y1: vec4f = t01 + t02;
    var result_y2: vec4f = t02 - t01;
    var result_y3: vec4f = t01 - t03;
    var t10: vec4f = select(vec4f(0.0), s10, x0 == corner.x);
    var t11: vec4f = select(vec4f(0.0), s11, x1 == corner.x + 1);
    var t12: vec4f = select(vec4f(0.0), s12, x2 == corner.x + 2);
    var t13: vec4f = select(vec4f(0.0), s13, x3 == corner.x + 3);
    var result_y4: vec4f = t10 - t12;
    var result_y5: vec4f = t11 + t12;
    var result_y6: vec4f = t12 - t11;
    var result_y7: vec4f = t11 - t13;
    store(pixel, plane, result_y0);
    store(pixel + vec2i(0, 1), plane, result_y1);
    store(pixel + vec2i(0, 2), plane, result_y2);
    store(pixel + vec2i(0, 3), plane, result_y3);
    store(pixel + vec2i(0, 4), plane, result_y4);
    store(pixel + vec2i(0, 5), plane, result_y5);
    store(pixel + vec2i(0, 6), plane, result_y6);
    store(pixel + vec2i(0, 7), plane, result_y7);
}
