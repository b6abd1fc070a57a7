// conv: convolution 3x3, 4 to 4 channels, in Winograd's tiles of 2x2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   512 multiply-adds

struct Sizes {
    u_width_in: i32,
    u_height_in: i32,
    u_width: i32,
    u_height: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;

fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(sizes.u_width_in, sizes.u_height_in) - 1);
    var inside: bool = all(nearest == p);
    var texel: vec4f = textureLoad(u_x, nearest, 0);
    return select(vec4f(0.0), texel, inside);
}

fn store(pixel: vec2i, result: vec4f) {
    // Blocks at the border reach beyond the map.
    if (pixel.x >= sizes.u_width || pixel.y >= sizes.u_height) { return; }
    textureStore(u_result, pixel, result);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    // An invocation computes a block: 2 x 2 pixels (rows x columns) of 1 plane.
    // A workgroup computes consecutive blocks, row by row.
    var invocation: i32 = i32(local.x);
    var block: i32 = (i32(group.x) << u32(sizes.u_span_bits)) + (invocation & ((1 << u32(sizes.u_span_bits)) - 1));
    var plane: i32 = i32(group.y) * (64 >> u32(sizes.u_span_bits)) + (invocation >> u32(sizes.u_span_bits));
    if (block >= sizes.u_blocks_across * sizes.u_blocks_down || 1 <= plane) { return; }
    var row: i32 = i32(u32(block) / u32(sizes.u_blocks_across));
    var pixel: vec2i = vec2i(block - row * sizes.u_blocks_across, row) * vec2i(2, 2);
    // corner: the first pixel of the patch; m: the sums at the positions of the patch.
    var corner: vec2i = pixel - vec2i(1, 1);
    var m00_0: vec4f = vec4f(0.0);
    var m01_0: vec4f = vec4f(0.0);
    var m02_0: vec4f = vec4f(0.0);
    var m03_0: vec4f = vec4f(0.0);
    var m10_0: vec4f = vec4f(0.0);
    var m11_0: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var m12_0: vec4f = vec4f(0.0);
    var m13_0: vec4f = vec4f(0.0);
    var m20_0: vec4f = vec4f(0.0);
    var m21_0: vec4f = vec4f(0.0);
    var m22_0: vec4f = vec4f(0.0);
    var m23_0: vec4f = vec4f(0.0);
    var m30_0: vec4f = vec4f(0.0);
    var m31_0: vec4f = vec4f(0.0);
    var m32_0: vec4f = vec4f(0.0);
    var m33_0: vec4f = vec4f(0.0);
//// 111 lines are not stored
    m33_0 += vec4f(0.5, 0.75, -0.75, -0.5) * v0_33.z;
    m33_0 += vec4f(-0.75, -0.5, -0.25, 0.0) * v0_33.w;
    // the pixels of the tile
    var s00_0: vec4f = m00_0 + m01_0 + m02_0;
    var s01_0: vec4f = m01_0 - m02_0 - m03_0;
    var s10_0: vec4f = m10_0 + m11_0 + m12_0;
    var s11_0: vec4f = m11_0 - m12_0 - m13_0;
    var s20_0: vec4f = m20_0 + m21_0 + m22_0;
    var s21_0: vec4f = m21_0 - m22_0 - m23_0;
    var s30_0: vec4f = m30_0 + m31_0 + m32_0;
    var s31_0: vec4f = m31_0 - m32_0 - m33_0;
    var result_x0_y0: vec4f = s00_0 + s10_0 + s20_0;
    var result_x1_y0: vec4f = s01_0 + s11_0 + s21_0;
    var result_x0_y1: vec4f = s10_0 - s20_0 - s30_0;
    var result_x1_y1: vec4f = s11_0 - s21_0 - s31_0;
    store(pixel, result_x0_y0);
    store(pixel + vec2i(1, 0), result_x1_y0);
    store(pixel + vec2i(0, 1), result_x0_y1);
    store(pixel + vec2i(1, 1), result_x1_y1);
}
