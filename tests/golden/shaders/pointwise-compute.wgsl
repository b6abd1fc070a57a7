// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

var<private> infinite_bits: u32 = 0x7F800000u;
struct Sizes {
    u_span: i32,
    u_across: i32,
    u_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x0: texture_2d<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;
@group(0) @binding(3) var nearest: sampler;
fn f_sigmoid_of(x_: vec4f, e_: vec4f) -> vec4f {
    return select(vec4f(1.0), e_, (x_ < vec4f(0.0))) / (1.0 + e_);
}
fn f_sigmoid(x_: vec4f) -> vec4f { return f_sigmoid_of(x_, exp(-abs(x_))); }
fn epilogue(x0: vec4f) -> vec4f { return x0 * f_sigmoid(x0); }
fn store(o: vec2i, plane: i32) { textureStore(u_result, o, epilogue(textureLoad(u_x0, o, 0))); }
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    var lane: i32 = i32(local.x);
    var place: i32 = i32(group.x) * sizes.u_span + lane % sizes.u_span;
    var plane: i32 = i32(group.y) * (64 / sizes.u_span) + lane / sizes.u_span;
    if (place >= sizes.u_across * sizes.u_down || sizes.u_planes <= plane) { return; }
    var o: vec2i = vec2i(place % sizes.u_across, place / sizes.u_across);
    store(o, plane);
}
