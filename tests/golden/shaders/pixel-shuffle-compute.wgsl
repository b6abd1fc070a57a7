// conv, shuffle: convolution 1x1, 4 to 4 channels, then stored as DepthToSpace
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes shuffle: float32 1x1x8x4, r32f 2d, plane 0 of 1
// cost   128 multiply-adds

var<private> infinite_bits: u32 = 0x7F800000u;
struct Sizes {
    u_tap_rows: i32,
    u_span: i32,
    u_across: i32,
    u_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;
@group(0) @binding(2) var<uniform> weights: array<vec4f, 4>;
@group(0) @binding(3) var u_result: texture_storage_2d<r32float, write>;
@group(0) @binding(4) var nearest: sampler;
fn load_x(p: vec2i, plane: i32) -> vec4f { return textureLoad(u_x, p, 0); }
fn weight(i: i32) -> vec4f { return weights[i]; }
fn store(o: vec2i, plane: i32, a0: vec4f) {
    var y0: vec4f = a0;
    var p: vec2i = o * vec2i(2, 2);
    textureStore(u_result, p, y0);
    textureStore(u_result, p + vec2i(1, 0), y0.yzwx);
    textureStore(u_result, p + vec2i(0, 1), y0.zwxy);
    textureStore(u_result, p + vec2i(1, 1), y0.wxyz);
}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    var lane: i32 = i32(local.x);
    var place: i32 = i32(group.x) * sizes.u_span + lane % sizes.u_span;
    var plane: i32 = i32(group.y) * (64 / sizes.u_span) + lane / sizes.u_span;
    if (place >= sizes.u_across * sizes.u_down || sizes.u_planes <= plane) { return; }
    var o: vec2i = vec2i(place % sizes.u_across, place / sizes.u_across);
    var corner: vec2i = o;
    var a0: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var k: i32 = plane * sizes.u_tap_rows;
    var p: vec2i = corner + vec2i(0, 0);
    var v: vec4f = load_x(p, 0);
    {
        var w0: vec4f = weight(k);
        a0 += w0 * v.x;
        var w1: vec4f = weight(k + 1);
        a0 += w1 * v.y;
        var w2: vec4f = weight(k + 2);
        a0 += w2 * v.z;
        var w3: vec4f = weight(k + 3);
        a0 += w3 * v.w;
    }
    k += 4;
    store(o, plane, a0);
}
