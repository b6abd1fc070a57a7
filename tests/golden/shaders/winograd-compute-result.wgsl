// conv: Winograd result for tiles of 2x2
// reads  conv: float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

var<private> infinite_bits: u32 = 0x7F800000u;
struct Sizes {
    u_columns: i32,
    u_tiles_across: i32,
    u_patch: i32,
    u_width: i32,
    u_height: i32,
    u_span: i32,
    u_across: i32,
    u_down: i32,
    u_planes: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d_array<f32>;
@group(0) @binding(2) var u_result: texture_storage_2d<rgba32float, write>;
@group(0) @binding(3) var nearest: sampler;
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
fn store(o: vec2i, plane: i32, a0: vec4f) {
    if (o.x >= sizes.u_width || o.y >= sizes.u_height) { return; }
    textureStore(u_result, o, a0);
}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    var lane: i32 = i32(local.x);
    var place: i32 = i32(group.x) * sizes.u_span + lane % sizes.u_span;
    var plane: i32 = i32(group.y) * (64 / sizes.u_span) + lane / sizes.u_span;
    if (place >= sizes.u_across * sizes.u_down || sizes.u_planes <= plane) { return; }
    var o: vec2i = vec2i(place % sizes.u_across, place / sizes.u_across) * vec2i(2, 2);
    var corner: vec2i = vec2i((o.y / 2 * sizes.u_tiles_across + o.x / 2) % sizes.u_columns, (o.y / 2 * sizes.u_tiles_across + o.x / 2) / sizes.u_columns * 16);
    var first: i32 = 0;
    var a0_00: vec4f = vec4f(0.0);
    var a0_10: vec4f = vec4f(0.0);
    var a0_01: vec4f = vec4f(0.0);
    var a0_11: vec4f = vec4f(0.0);
    for (var i = 0; i < sizes.u_patch; i += 1) {
        var d0: vec4f = textureLoad(u_x, corner + vec2i(0, i * 4), plane, 0);
        var d1: vec4f = textureLoad(u_x, corner + vec2i(0, i * 4 + 1), plane, 0);
        var d2: vec4f = textureLoad(u_x, corner + vec2i(0, i * 4 + 2), plane, 0);
        var d3: vec4f = textureLoad(u_x, corner + vec2i(0, i * 4 + 3), plane, 0);
        var t0: vec4f = d0 + d1 + d2;
        var t1: vec4f = d1 - d2 - d3;
        var factor0: f32 = factors[first + i];
        a0_00 += factor0 * t0;
        a0_10 += factor0 * t1;
        var factor1: f32 = factors[first + 4 + i];
        a0_01 += factor1 * t0;
        a0_11 += factor1 * t1;
    }
    store(o, plane, a0_00);
    store(o + vec2i(1, 0), plane, a0_10);
    store(o + vec2i(0, 1), plane, a0_01);
    store(o + vec2i(1, 1), plane, a0_11);
}
