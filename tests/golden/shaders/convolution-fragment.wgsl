// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

var<private> infinite_bits: u32 = 0x7F800000u;
@group(0) @binding(0) var u_x: texture_2d<f32>;
@group(0) @binding(1) var nearest: sampler;
fn load_x(p: vec2i, plane: i32) -> vec4f {
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(2, 4) - 1);
    var inside: bool = all(nearest == p);
    return select(vec4f(0.0), textureLoad(u_x, nearest, 0), inside);
}
fn f_relu(x_: vec4f) -> vec4f { return max(x_, vec4f(0.0)); }
fn epilogue(y: vec4f) -> vec4f { return f_relu(y); }
struct Targets {
    @location(0) o_0: vec4f,
}
@fragment
fn main(@builtin(position) position: vec4f) -> Targets {
    var targets: Targets;
    var o: vec2i = vec2i(position.xy);
    var corner: vec2i = o;
    var a0: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var v: vec4f;
    // tap (0, 0), input plane 0
    v = load_x(corner, 0);
    a0 += vec4f(-0.75, -0.5, -0.25, 0.0) * v.x;
    a0 += vec4f(-0.25, 0.0, 0.25, 0.5) * v.y;
    a0 += vec4f(0.25, 0.5, 0.75, -0.75) * v.z;
    a0 += vec4f(0.75, -0.75, -0.5, -0.25) * v.w;
    // tap (0, 1), input plane 0
    v = load_x(corner + vec2i(1, 0), 0);
    a0 += vec4f(-0.5, -0.25, 0.0, 0.25) * v.x;
    a0 += vec4f(0.0, 0.25, 0.5, 0.75) * v.y;
    a0 += vec4f(0.5, 0.75, -0.75, -0.5) * v.z;
    a0 += vec4f(-0.75, -0.5, -0.25, 0.0) * v.w;
    targets.o_0 = epilogue(a0);
    return targets;
}
