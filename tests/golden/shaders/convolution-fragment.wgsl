// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

@group(0) @binding(0) var u_x: texture_2d<f32>;
@group(0) @binding(1) var u_weights: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn weight(i: i32) -> vec4f { return textureLoad(u_weights, vec2i(i & 3, i >> u32(2)), 0); }

fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(2, 4) - 1);
    var inside: bool = all(nearest == p);
    return select(vec4f(0.0), textureLoad(u_x, nearest, 0), inside);
}

fn weight_position(i: i32) -> vec2i { return vec2i(i & 3, i >> u32(2)); }

fn weight_at(at: vec2i) -> vec4f { return textureLoad(u_weights, at, 0); }

fn f_relu(x_: vec4f) -> vec4f { return max(x_, vec4f(0.0)); }

fn epilogue(y: vec4f) -> vec4f { return f_relu(y); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var corner: vec2i = pixel;
    var result: vec4f = weight(8);
    var weight_row: i32 = 0;
    for (var kx = 0; kx < 2; kx += 1) {
        var tap: vec2i = corner + vec2i(kx, 0);
        var texel: vec4f = load_x(tap);
        {
            var at: vec2i = weight_position(weight_row);
            var w0: vec4f = weight_at(at);
            result += w0 * texel.x;
            var w1: vec4f = weight_at(at + vec2i(1, 0));
            result += w1 * texel.y;
            var w2: vec4f = weight_at(at + vec2i(2, 0));
            result += w2 * texel.z;
            var w3: vec4f = weight_at(at + vec2i(3, 0));
            result += w3 * texel.w;
        }
        weight_row += 4;
    }
    targets.target_0 = epilogue(result);
    return targets;
}
