// conv: convolution 3x3, 32 to 8 channels
// reads  x: float32 1x32x256x256, rgba32f array
// writes conv: float32 1x16x256x128, rgba32f array, planes 0, 1, 2, 3 of 4
// cost   150994944 multiply-adds

@group(0) @binding(0) var u_x: texture_2d_array<f32>;
@group(0) @binding(1) var u_weights: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
    @location(2) target_2: vec4f,
    @location(3) target_3: vec4f,
}

fn weight(i: i32) -> vec4f { return textureLoad(u_weights, vec2i(i & 31, i >> u32(5)), 0); }

fn load_x(p: vec2i, plane: i32) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(256, 256) - 1);
    var inside: bool = all(nearest == p);
    var texel: vec4f = textureLoad(u_x, nearest, plane, 0);
    return select(vec4f(0.0), texel, inside);
}

fn weight_position(i: i32) -> vec2i { return vec2i(i & 31, i >> u32(5)); }

fn weight_at(at: vec2i) -> vec4f { return textureLoad(u_weights, at, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy) * vec2i(2, 1);
    var corner: vec2i = pixel - vec2i(1, 1);
    var result_p0_x0: vec4f = weight(576);
    var result_p0_x1: vec4f = result_p0_x0;
    var result_p1_x0: vec4f = weight(577);
    var result_p1_x1: vec4f = result_p1_x0;
    var weight_row: i32 = 0;
    for (var ky = 0; ky < 3; ky += 1) {
        for (var kx = 0; kx < 3; kx += 1) {
            var tap: vec2i = corner + vec2i(kx, ky);
            for (var input_plane = 0; input_plane < 8; input_plane += 1) {
                var texel_x0: vec4f = load_x(tap, input_plane);
                var texel_x1: vec4f = load_x(tap + vec2i(1, 0), input_plane);
                {
                    var at: vec2i = weight_position(weight_row);
                    var w0: vec4f = weight_at(at);
                    result_p0_x0 += w0 * texel_x0.x;
                    result_p0_x1 += w0 * texel_x1.x;
                    var w1: vec4f = weight_at(at + vec2i(1, 0));
                    result_p0_x0 += w1 * texel_x0.y;
                    result_p0_x1 += w1 * texel_x1.y;
                    var w2: vec4f = weight_at(at + vec2i(2, 0));
                    result_p0_x0 += w2 * texel_x0.z;
                    result_p0_x1 += w2 * texel_x1.z;
                    var w3: vec4f = weight_at(at + vec2i(3, 0));
                    result_p0_x0 += w3 * texel_x0.w;
                    result_p0_x1 += w3 * texel_x1.w;
                }
                {
                    var at: vec2i = weight_position(weight_row + 4);
                    var w0: vec4f = weight_at(at);
                    result_p1_x0 += w0 * texel_x0.x;
                    result_p1_x1 += w0 * texel_x1.x;
                    var w1: vec4f = weight_at(at + vec2i(1, 0));
                    result_p1_x0 += w1 * texel_x0.y;
                    result_p1_x1 += w1 * texel_x1.y;
                    var w2: vec4f = weight_at(at + vec2i(2, 0));
                    result_p1_x0 += w2 * texel_x0.z;
                    result_p1_x1 += w2 * texel_x1.z;
                    var w3: vec4f = weight_at(at + vec2i(3, 0));
                    result_p1_x0 += w3 * texel_x0.w;
                    result_p1_x1 += w3 * texel_x1.w;
                }
                weight_row += 8;
            }
        }
    }
    targets.target_0 = result_p0_x0;
    targets.target_1 = result_p1_x0;
    targets.target_2 = result_p0_x1;
    targets.target_3 = result_p1_x1;
    return targets;
}
