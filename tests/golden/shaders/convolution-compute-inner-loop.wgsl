// conv: convolution 1x1, 32 to 4 channels
// reads  x: float32 1x32x4x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   1024 multiply-adds

struct Sizes {
    u_planes_in: i32,
    u_rows_per_tap: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
    u_weights_mask: i32,
    u_weights_shift: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d_array<f32>;
@group(0) @binding(2) var u_weights: texture_2d<f32>;
@group(0) @binding(3) var u_result: texture_storage_2d<rgba32float, write>;

fn load_x(p: vec2i, plane: i32) -> vec4f { return textureLoad(u_x, p, plane, 0); }

fn weight_position(i: i32) -> vec2i {
    return vec2i(i & sizes.u_weights_mask, i >> u32(sizes.u_weights_shift));
}

fn weight_at(at: vec2i) -> vec4f { return textureLoad(u_weights, at, 0); }

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
    var corner: vec2i = pixel;
    var result: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var weight_row: i32 = plane * sizes.u_rows_per_tap;
    var tap: vec2i = corner;
    // Compilers unroll the inner loop, and issue its loads together.
    for (var first_input_plane = 0; first_input_plane < sizes.u_planes_in; first_input_plane += 4) {
        for (var input_plane_offset = 0; input_plane_offset < 4; input_plane_offset += 1) {
            var input_plane: i32 = first_input_plane + input_plane_offset;
            var texel: vec4f = load_x(tap, input_plane);
            {
                var at: vec2i = weight_position(weight_row);
                var w0: vec4f = weight_at(at);
                result += w0 * texel.x;
                var w1: vec4f = weight_at(at + vec2i(1, 0));
                result += w1 * texel.y;
                var w2: vec4f = weight_at(at + vec2i(2, 0));
                result += w2 * texel.z;
                var w3: vec4f = weight_at(at + vec2i(3, 0));
                result += w3 * texel.w;
            }
            weight_row += 4;
        }
    }
    store(pixel, result);
}
