// conv: DepthToSpace
// reads  conv (from the step before): float32 1x16x2x1, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

@group(0) @binding(0) var u_value: texture_2d_array<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn load_value(row: i32, column: i32, channel: i32) -> vec4f {
    return textureLoad(u_value, vec2i(0, row >> u32(1)), ((row & 1) * 8 + column * 4 + channel) >> u32(2), 0);
}

fn compute(row: i32, column: i32) -> vec4f { return load_value(row, column, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var result: vec4f = compute(pixel.y, pixel.x);
    targets.target_0 = result;
    return targets;
}
