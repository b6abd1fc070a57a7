// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

@group(0) @binding(0) var u_x0: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn f_sigmoid_of(x_: vec4f, e_: vec4f) -> vec4f {
    return select(vec4f(1.0), e_, (x_ < vec4f(0.0))) / (1.0 + e_);
}

fn f_sigmoid(x_: vec4f) -> vec4f { return f_sigmoid_of(x_, exp(-abs(x_))); }

fn epilogue(x0: vec4f) -> vec4f { return x0 * f_sigmoid(x0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    targets.target_0 = epilogue(textureLoad(u_x0, pixel, 0));
    return targets;
}
