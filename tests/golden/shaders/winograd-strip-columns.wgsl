// conv: Winograd output transform of columns, 4x4 tiles
// reads  conv (from the step before): float32 1x16x6x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

struct Sizes {
    u_columns: i32,
    u_patch_rows: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d_array<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    // The first transformed row of the pixel's tile.
    var first: vec2i = vec2i(pixel.x / 4, pixel.y / 4 * 6);
    var layer: i32 = pixel.x % 4;
    var line: i32 = pixel.y % 4;
    var factors0_0: vec4f = select(select(select(vec4f(0.0, 0.421875, -0.421875, 3.375), vec4f(0.0, 0.5625, 0.5625, 2.25), line == 2), vec4f(0.0, 0.75, -0.75, 1.5), line == 1), vec4f(1.0, 1.0, 1.0, 1.0), line == 0);
    var factors0_4: vec4f = select(select(select(vec4f(-3.375, 1.0, 0.0, 0.0), vec4f(2.25, 0.0, 0.0, 0.0), line == 2), vec4f(-1.5, 0.0, 0.0, 0.0), line == 1), vec4f(1.0, 0.0, 0.0, 0.0), line == 0);
    var result: vec4f = vec4f(0.0);
    for (var patch_row = 0; patch_row < sizes.u_patch_rows; patch_row += 1) {
        var d0: vec4f = textureLoad(u_x, first + vec2i(0 * sizes.u_columns, patch_row), layer, 0);
        // Move the next factor to the front: Mali is slow with variable array indices.
        var factor0: f32 = factors0_0.x;
        result += factor0 * d0;
        factors0_0 = vec4f(factors0_0.yzw, factors0_4.x);
        factors0_4 = vec4f(factors0_4.yzw, factors0_0.x);
    }
    targets.target_0 = result;
    return targets;
}
