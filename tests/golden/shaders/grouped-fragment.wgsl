// grouped: convolution 1x1, 8 to 8 channels in 2 groups
// reads  before: float32 1x8x4x2, rgba32f array
// writes grouped: float32 1x8x4x2, rgba32f array, planes 0 to 1 of 2
// cost   256 multiply-adds

@group(0) @binding(0) var u_x: texture_2d_array<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
}

fn load_x(p: vec2i, plane: i32) -> vec4f { return textureLoad(u_x, p, plane, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var corner: vec2i = pixel;
    var result_p0: vec4f = vec4f(0.0, 0.5, 1.0, 1.5);
    var result_p1: vec4f = vec4f(2.0, 2.5, 3.0, 3.5);
    var texel: vec4f;
    // tap (0, 0), input plane 0
    texel = load_x(corner, 0);
    result_p0 += vec4f(-0.75, 0.25, -0.5, 0.5) * texel.x;
    result_p0 += vec4f(-0.5, 0.5, -0.25, 0.75) * texel.y;
    result_p0 += vec4f(-0.25, 0.75, 0.0, -0.75) * texel.z;
    result_p0 += vec4f(0.0, -0.75, 0.25, -0.5) * texel.w;
    // tap (0, 0), input plane 1
    texel = load_x(corner, 1);
    result_p1 += vec4f(-0.25, 0.75, 0.0, -0.75) * texel.x;
    result_p1 += vec4f(0.0, -0.75, 0.25, -0.5) * texel.y;
    result_p1 += vec4f(0.25, -0.5, 0.5, -0.25) * texel.z;
    result_p1 += vec4f(0.5, -0.25, 0.75, 0.0) * texel.w;
    targets.target_0 = result_p0;
    targets.target_1 = result_p1;
    return targets;
}
