// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

struct Sizes {
    u_width_in: i32,
    u_height_in: i32,
    u_rows_per_tap: i32,
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;
@group(0) @binding(2) var<uniform> weights: array<vec4f, 8>;
@group(0) @binding(3) var u_result: texture_storage_2d<rgba32float, write>;

fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(sizes.u_width_in, sizes.u_height_in) - 1);
    var inside: bool = all(nearest == p);
    var texel: vec4f = textureLoad(u_x, nearest, 0);
    return select(vec4f(0.0), texel, inside);
}

fn weight(i: i32) -> vec4f { return weights[i]; }

fn f_relu(x_: vec4f) -> vec4f { return max(x_, vec4f(0.0)); }

fn epilogue(y: vec4f) -> vec4f { return f_relu(y); }

fn store(pixel: vec2i, result: vec4f) { textureStore(u_result, pixel, epilogue(result)); }

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
    var weight_row: i32 = plane * 2 * sizes.u_rows_per_tap;
    for (var kx = 0; kx < 2; kx += 1) {
        var tap: vec2i = corner + vec2i(kx, 0);
        var texel: vec4f = load_x(tap);
        {
            var w0: vec4f = weight(weight_row);
            result += w0 * texel.x;
            var w1: vec4f = weight(weight_row + 1);
            result += w1 * texel.y;
            var w2: vec4f = weight(weight_row + 2);
            result += w2 * texel.z;
            var w3: vec4f = weight(weight_row + 3);
            result += w3 * texel.w;
        }
        weight_row += 4;
    }
    store(pixel, result);
}
