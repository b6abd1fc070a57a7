// conv: Winograd input transform, 4x4 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x24x6x2, rgba32f array, planes 0 to 2 of 6

struct Sizes {
    u_columns: i32,
    u_height_in: i32,
    u_width_in: i32,
    u_patch_rows: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
    @location(2) target_2: vec4f,
}

fn load_inside(p: vec2i) -> vec4f { return textureLoad(u_x, p, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var plane_of_strip: i32 = i32(u32(pixel.x) / u32(sizes.u_columns));
    var column: i32 = pixel.x - plane_of_strip * sizes.u_columns;
    // The first pixel of the tile, and the row of its transformed patch.
    var corner: vec2i = vec2i(column, pixel.y / 6) * 4 - vec2i(1, 1);
    var patch_line: i32 = pixel.y % 6;
    var first_row: i32 = min(patch_line, 1);
    var row_step: i32 = select(1, 2, patch_line == 0 || patch_line == 5);
    // In place of columns outside the map, load the nearest.
    var x0: i32 = max(min(corner.x, sizes.u_width_in - 1), 0);
    var x1: i32 = min(corner.x + 1, sizes.u_width_in - 1);
    var x2: i32 = min(corner.x + 2, sizes.u_width_in - 1);
    var x3: i32 = min(corner.x + 3, sizes.u_width_in - 1);
    var x4: i32 = min(corner.x + 4, sizes.u_width_in - 1);
    // If the number of rows is known, VideoCore unrolls the loop and spills.
    var line: i32 = patch_line;
    var factors0_0: vec4f = select(select(select(select(select(vec4f(1.265625, -2.8125, 1.0, 0.0), vec4f(0.84375, -0.5625, -1.5, 1.0), line == 4), vec4f(-0.84375, -0.5625, 1.5, 1.0), line == 3), vec4f(1.6875, -2.25, -0.75, 1.0), line == 2), vec4f(-1.6875, -2.25, 0.75, 1.0), line == 1), vec4f(1.265625, -2.8125, 1.0, 0.0), line == 0);
    var s0: vec4f = vec4f(0.0);
    var s1: vec4f = vec4f(0.0);
    var s2: vec4f = vec4f(0.0);
    var s3: vec4f = vec4f(0.0);
    var s4: vec4f = vec4f(0.0);
    for (var patch_row = 0; patch_row < sizes.u_patch_rows; patch_row += 1) {
        // d: a row of the patch. Add d, times the factor of this row, to the sums.
        var y: i32 = corner.y + min(first_row + patch_row * row_step, 5);
        var nearest_y: i32 = clamp(y, 0, sizes.u_height_in - 1);
        var d0: vec4f = load_inside(vec2i(x0, nearest_y));
        var d1: vec4f = load_inside(vec2i(x1, nearest_y));
        var d2: vec4f = load_inside(vec2i(x2, nearest_y));
        var d3: vec4f = load_inside(vec2i(x3, nearest_y));
        var d4: vec4f = load_inside(vec2i(x4, nearest_y));
        // Move the next factor to the front: Mali is slow with variable array indices.
        var factor0: f32 = select(0.0, factors0_0.x, nearest_y == y);
        s0 += factor0 * d0;
        s1 += factor0 * d1;
        s2 += factor0 * d2;
        s3 += factor0 * d3;
        s4 += factor0 * d4;
        factors0_0 = vec4f(factors0_0.yzw, factors0_0.x);
    }
    var t0: vec4f = select(vec4f(0.0), s0, x0 == corner.x);
    var t1: vec4f = select(vec4f(0.0), s1, x1 == corner.x + 1);
    var t2: vec4f = select(vec4f(0.0), s2, x2 == corner.x + 2);
    var t3: vec4f = select(vec4f(0.0), s3, x3 == corner.x + 3);
    var t4: vec4f = select(vec4f(0.0), s4, x4 == corner.x + 4);
    var p: vec4f = t4 - 2.25 * t2;
    var q: vec4f = t3 - 2.25 * t1;
    var value0: vec4f = 1.265625 * t0 - 2.8125 * t2 + t4;
    var value1: vec4f = p + 0.75 * q;
    var value2: vec4f = p - 0.75 * q;
    targets.target_0 = value0;
    targets.target_1 = value1;
    targets.target_2 = value2;
    return targets;
}
