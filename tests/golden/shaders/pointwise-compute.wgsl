// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

struct Sizes {
    u_span_bits: i32,
    u_blocks_across: i32,
    u_blocks_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x0: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;

fn f_sigmoid_of(x_: vec4f, e_: vec4f) -> vec4f {
    return select(vec4f(1.0), e_, (x_ < vec4f(0.0))) / (1.0 + e_);
}

fn f_sigmoid(x_: vec4f) -> vec4f { return f_sigmoid_of(x_, exp(-abs(x_))); }

fn epilogue(x0: vec4f) -> vec4f { return x0 * f_sigmoid(x0); }

fn store(pixel: vec2i) { textureStore(u_result, pixel, epilogue(textureLoad(u_x0, pixel, 0))); }

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
    store(pixel);
}
