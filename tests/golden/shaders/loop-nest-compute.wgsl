// pool: Pool, loops tap_row < 2, tap_column < 2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes pool: float32 1x4x3x1, rgba32f 2d, plane 0 of 1
// cost   48 multiply-adds

struct Sizes {
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_value: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;

fn load_value(row: i32, tap_row: i32, tap_column: i32) -> vec4f {
    return textureLoad(u_value, vec2i(tap_column, row + tap_row), 0);
}

fn compute(row: i32) -> vec4f {
    var maximum: vec4f = vec4f(-3.4028234663852886e+38);
    for (var tap_row = 0; tap_row < 2; tap_row += 1) {
        for (var tap_column = 0; tap_column < 2; tap_column += 1) {
            var value: vec4f = load_value(row, tap_row, tap_column);
            maximum = max(maximum, value);
        }
    }
    return maximum;
}

fn store(pixel: vec2i, result: vec4f) { textureStore(u_result, pixel, result); }

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    // An invocation computes a block: 1 pixel of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    var invocation: i32 = i32(local.x);
    var block: i32 = (i32(group.x) << u32(sizes.u_span_bits)) + (invocation & ((1 << u32(sizes.u_span_bits)) - 1));
    var plane: i32 = i32(group.y) * (64 >> u32(sizes.u_span_bits)) + (invocation >> u32(sizes.u_span_bits));
    if (block >= sizes.u_blocks_across * sizes.u_blocks_down || sizes.u_planes <= plane) { return; }
    var row: i32 = i32(u32(block) / u32(sizes.u_blocks_across));
    var pixel: vec2i = vec2i(block - row * sizes.u_blocks_across, row);
    var result: vec4f = compute(pixel.y);
    store(pixel, result);
}
