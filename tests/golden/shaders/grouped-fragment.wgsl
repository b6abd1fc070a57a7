// grouped: convolution 1x1, 8 to 8 channels in 2 groups
// reads  before: float32 1x8x4x2, rgba32f array
// writes grouped: float32 1x8x4x2, rgba32f array, planes 0 to 1 of 2
// cost   256 multiply-adds

var<private> infinite_bits: u32 = 0x7F800000u;
@group(0) @binding(0) var u_x: texture_2d_array<f32>;
@group(0) @binding(1) var nearest: sampler;
fn load_x(p: vec2i, plane: i32) -> vec4f { return textureLoad(u_x, p, plane, 0); }
struct Targets {
    @location(0) o_0: vec4f,
    @location(1) o_1: vec4f,
}
@fragment
fn main(@builtin(position) position: vec4f) -> Targets {
    var targets: Targets;
    var o: vec2i = vec2i(position.xy);
    var corner: vec2i = o;
    var a0: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var a1: vec4f = vec4f(2.0, 2.5, 3.0, 3.5);
    var v: vec4f;
    // tap (0, 0), input plane 0
    v = load_x(corner, 0);
    a0 += vec4f(-0.75, 0.25, -0.5, 0.5) * v.x;
    a0 += vec4f(-0.5, 0.5, -0.25, 0.75) * v.y;
    a0 += vec4f(-0.25, 0.75, 0.0, -0.75) * v.z;
    a0 += vec4f(0.0, -0.75, 0.25, -0.5) * v.w;
    // tap (0, 0), input plane 1
    v = load_x(corner, 1);
    a1 += vec4f(-0.25, 0.75, 0.0, -0.75) * v.x;
    a1 += vec4f(0.0, -0.75, 0.25, -0.5) * v.y;
    a1 += vec4f(0.25, -0.5, 0.5, -0.25) * v.z;
    a1 += vec4f(0.5, -0.25, 0.75, 0.0) * v.w;
    targets.o_0 = a0;
    targets.o_1 = a1;
    return targets;
}
