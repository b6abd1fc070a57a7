// conv: Winograd products, 4x4 tiles, 4 to 4 channels
// reads  conv (from the step before): float32 1x24x6x2, rgba32f array
// writes conv: float32 1x8x6x6, rgba32f array, planes 0 to 1 of 2
// cost   1152 multiply-adds

@group(0) @binding(0) var u_x: texture_2d_array<f32>;
@group(0) @binding(1) var u_weights: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
}

fn weight_position(i: i32) -> vec2i { return vec2i(i & 15, i >> u32(4)); }

fn weight_at(at: vec2i) -> vec4f { return textureLoad(u_weights, at, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    // An invocation computes one position of the patch, for a pair of tiles.
    var part: i32 = pixel.x;
    var group: i32 = part / 6;
    var patch_column: i32 = part - group * 6;
    var position: i32 = pixel.y % 6 * 6 + patch_column;
    var column: i32 = (pixel.x - part) * 2;
    var patch_row: i32 = pixel.y % 6;
    var bias_share: f32 = select(select(select(select(0.0, -0.125, patch_row == 5), 0.22222222, patch_row == 3), 0.8888889, patch_row == 1), -0.11111111, patch_row == 0) * select(select(select(select(0.0, -0.125, patch_column == 5), 0.22222222, patch_column == 3), 0.8888889, patch_column == 1), -0.11111111, patch_column == 0);
    var result_p0_x0: vec4f = bias_share * vec4f(0.0, 0.5, 1.0, 1.5);
    var result_p0_x1: vec4f = result_p0_x0;
    var weight_row: i32 = (group * 36 + position) * 4;
    var place: vec2i = vec2i(column, pixel.y);
    var texel_x0: vec4f = textureLoad(u_x, place, patch_column, 0);
    var texel_x1: vec4f = textureLoad(u_x, place + vec2i(1, 0), patch_column, 0);
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
    weight_row += 4;
    place += vec2i(2, 0);
    targets.target_0 = result_p0_x0;
    targets.target_1 = result_p0_x1;
    return targets;
}
