// conv: Winograd patches for tiles of 2x2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1

var<private> infinite_bits: u32 = 0x7F800000u;
struct Sizes {
    u_columns: i32,
    u_tiles_across: i32,
    u_width_in: i32,
    u_height_in: i32,
    u_patch: i32,
    u_span: i32,
    u_across: i32,
    u_down: i32,
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
fn load_x(p: vec2i, plane: i32) -> vec4f {
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(sizes.u_width_in, sizes.u_height_in) - 1);
    var inside: bool = all(nearest == p);
    return select(vec4f(0.0), textureLoad(u_x, nearest, 0), inside);
}
fn store(o: vec2i, plane: i32, a0: vec4f) { textureStore(u_result, o, plane, a0); }
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {
    var lane: i32 = i32(local.x);
    var place: i32 = i32(group.x) * sizes.u_span + lane % sizes.u_span;
    var plane: i32 = i32(group.y) * (64 / sizes.u_span) + lane / sizes.u_span;
    if (place >= sizes.u_across * sizes.u_down || sizes.u_planes <= plane) { return; }
    var o: vec2i = vec2i(place % sizes.u_across, place / sizes.u_across) * vec2i(1, 8);
    var corner: vec2i = vec2i((o.y / 16 * sizes.u_columns + o.x) % sizes.u_tiles_across, (o.y / 16 * sizes.u_columns + o.x) / sizes.u_tiles_across) * 2 - vec2i(1, 1);
    var first: i32 = o.y / 8 % 2 * 8;
    var a0_00: vec4f = vec4f(0.0);
    var a0_01: vec4f = vec4f(0.0);
    var a0_02: vec4f = vec4f(0.0);
    var a0_03: vec4f = vec4f(0.0);
    var a0_04: vec4f = vec4f(0.0);
    var a0_05: vec4f = vec4f(0.0);
    var a0_06: vec4f = vec4f(0.0);
    var a0_07: vec4f = vec4f(0.0);
    for (var i = 0; i < sizes.u_patch; i += 1) {
        var d0: vec4f = load_x(corner + vec2i(0, i), plane);
        var d1: vec4f = load_x(corner + vec2i(1, i), plane);
        var d2: vec4f = load_x(corner + vec2i(2, i), plane);
        var d3: vec4f = load_x(corner + vec2i(3, i), plane);
        var t0: vec4f = d0 - d2;
        var t1: vec4f = d1 + d2;
        var t2: vec4f = d2 - d1;
        var t3: vec4f = d1 - d3;
        var factor0: f32 = factors[first + i];
        a0_00 += factor0 * t0;
        a0_01 += factor0 * t1;
        a0_02 += factor0 * t2;
        a0_03 += factor0 * t3;
        var factor1: f32 = factors[first + 4 + i];
        a0_04 += factor1 * t0;
        a0_05 += factor1 * t1;
        a0_06 += factor1 * t2;
        a0_07 += factor1 * t3;
    }
    store(o, plane, a0_00);
    store(o + vec2i(0, 1), plane, a0_01);
    store(o + vec2i(0, 2), plane, a0_02);
    store(o + vec2i(0, 3), plane, a0_03);
    store(o + vec2i(0, 4), plane, a0_04);
    store(o + vec2i(0, 5), plane, a0_05);
    store(o + vec2i(0, 6), plane, a0_06);
    store(o + vec2i(0, 7), plane, a0_07);
}
