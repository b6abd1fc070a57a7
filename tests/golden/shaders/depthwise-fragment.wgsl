// depthwise: convolution 1x2, 4 to 4 channels in 4 groups
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes depthwise: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   64 multiply-adds

@group(0) @binding(0) var u_x: texture_2d<f32>;
@group(0) @binding(1) var u_weights: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn weight(i: i32) -> vec4f { return textureLoad(u_weights, vec2i(i, 0), 0); }

fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(2, 4) - 1);
    var inside: bool = all(nearest == p);
    return select(vec4f(0.0), textureLoad(u_x, nearest, 0), inside);
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var corner: vec2i = pixel;
    var result: vec4f = weight(2);
    var weight_row: i32 = 0;
    for (var kx = 0; kx < 2; kx += 1) {
        var tap: vec2i = corner + vec2i(kx, 0);
        var texel: vec4f = load_x(tap);
        {
            var w: vec4f = weight(weight_row);
            result += w * texel;
        }
        weight_row += 1;
    }
    targets.target_0 = result;
    return targets;
}
