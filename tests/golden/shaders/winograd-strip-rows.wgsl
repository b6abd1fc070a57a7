// conv: Winograd output transform of rows, 4x4 tiles
// reads  conv (from the step before): float32 1x8x6x6, rgba32f array
// writes conv: float32 1x16x6x2, rgba32f array, planes 0 to 3 of 4

struct Sizes {
    u_columns: i32,
    u_pairs: i32,
}
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var u_x: texture_2d_array<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
    @location(2) target_2: vec4f,
    @location(3) target_3: vec4f,
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var plane_of_strip: i32 = i32(u32(pixel.x) / u32(sizes.u_columns));
    var column: i32 = pixel.x - plane_of_strip * sizes.u_columns;
    // d: a row of products.
    var first: i32 = plane_of_strip * (6 * sizes.u_pairs) + column / 2;
    var layer: i32 = column % 2 + plane_of_strip % 1;
    var d0: vec4f = textureLoad(u_x, vec2i(first, pixel.y), layer, 0);
    var d1: vec4f = textureLoad(u_x, vec2i(first + sizes.u_pairs, pixel.y), layer, 0);
    var d2: vec4f = textureLoad(u_x, vec2i(first + 2 * sizes.u_pairs, pixel.y), layer, 0);
    var d3: vec4f = textureLoad(u_x, vec2i(first + 3 * sizes.u_pairs, pixel.y), layer, 0);
    var d4: vec4f = textureLoad(u_x, vec2i(first + 4 * sizes.u_pairs, pixel.y), layer, 0);
    var d5: vec4f = textureLoad(u_x, vec2i(first + 5 * sizes.u_pairs, pixel.y), layer, 0);
    var p: vec4f = d1 + d2;
    var q: vec4f = d1 - d2;
    var r: vec4f = d3 + d4;
    var s: vec4f = d3 - d4;
    var value0: vec4f = d0 + p + r;
    var value1: vec4f = 0.75 * q + 1.5 * s;
    var value2: vec4f = 0.5625 * p + 2.25 * r;
    var value3: vec4f = 0.421875 * q + 3.375 * s + d5;
    targets.target_0 = value0;
    targets.target_1 = value1;
    targets.target_2 = value2;
    targets.target_3 = value3;
    return targets;
}
