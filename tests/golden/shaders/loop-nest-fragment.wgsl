// pool: Pool, loops tap_row < 2, tap_column < 2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes pool: float32 1x4x3x1, rgba32f 2d, plane 0 of 1
// cost   48 multiply-adds

@group(0) @binding(0) var u_value: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn load_value(row: i32, tap_row: i32, tap_column: i32) -> vec4f {
    return textureLoad(u_value, vec2i(tap_column, row + tap_row), 0);
}

fn compute(row: i32) -> vec4f {
    var maximum: vec4f = vec4f(-3.4028234663852886e+38);
    for (var tap_row = 0; tap_row < 2; tap_row += 1) {
        for (var tap_column = 0; tap_column < 2; tap_column += 1) {
            var value: vec4f = load_value(row, tap_row, tap_column);
            maximum = max(maximum, value);
        }
    }
    return maximum;
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var result: vec4f = compute(pixel.y);
    targets.target_0 = result;
    return targets;
}
