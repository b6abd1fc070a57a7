// conv: convolution 3x3, 4 to 4 channels, by Winograd with 2x2 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x16x2x1, rgba32f array, planes 0, 1, 2, 3 of 4
// cost   512 multiply-adds

@group(0) @binding(0) var u_x: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
    @location(1) target_1: vec4f,
    @location(2) target_2: vec4f,
    @location(3) target_3: vec4f,
}

fn transform(a: vec4f, b: vec4f, c: vec4f, d: vec4f, t0: ptr<function, vec4f>, t1: ptr<function, vec4f>, t2: ptr<function, vec4f>, t3: ptr<function, vec4f>) {
    (*t0) = a - c;
    (*t1) = b + c;
    (*t2) = c - b;
    (*t3) = b - d;
}

fn load_x(p: vec2i) -> vec4f {
    // Outside the map, return the padding: 0.
    var nearest: vec2i = clamp(p, vec2i(0), vec2i(2, 4) - 1);
    var inside: bool = all(nearest == p);
    return select(vec4f(0.0), textureLoad(u_x, nearest, 0), inside);
}

fn transform_row(p: vec2i, t0: ptr<function, vec4f>, t1: ptr<function, vec4f>, t2: ptr<function, vec4f>, t3: ptr<function, vec4f>) {
    transform(load_x(p), load_x(p + vec2i(1, 0)), load_x(p + vec2i(2, 0)), load_x(p + vec2i(3, 0)), t0, t1, t2, t3);
}

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    // This pixel computes a tile of 2x2 pixels of the map; y: the sums of the tile.
    var corner: vec2i = pixel * 2 - vec2i(1, 1);
    var t00: vec4f;
    var t01: vec4f;
    var t02: vec4f;
    var t03: vec4f;
    var t10: vec4f;
    var t11: vec4f;
    var t12: vec4f;
    var t13: vec4f;
    var t20: vec4f;
    var t21: vec4f;
    var t22: vec4f;
    var t23: vec4f;
    var t30: vec4f;
    var t31: vec4f;
    var t32: vec4f;
    var t33: vec4f;
    // the patch of input plane 0
    transform_row(corner, &t00, &t01, &t02, &t03);
    transform_row(corner + vec2i(0, 1), &t10, &t11, &t12, &t13);
    transform_row(corner + vec2i(0, 2), &t20, &t21, &t22, &t23);
    transform_row(corner + vec2i(0, 3), &t30, &t31, &t32, &t33);
    var v0_00: vec4f;
//// 158 lines are not stored
        vec4f(-0.125, 0.0, 0.125, 0.25),
        vec4f(0.125, 0.25, -0.5, 0.5),
        vec4f(-0.5, 0.5, -0.25, -0.125)
    ) * v0_32;
    y10_0 -= product;
    y11_0 += product;
    // position (3, 3)
    product = mat4x4f(
        vec4f(-0.5, -0.25, 0.0, 0.25),
        vec4f(0.0, 0.25, 0.5, 0.75),
        vec4f(0.5, 0.75, -0.75, -0.5),
        vec4f(-0.75, -0.5, -0.25, 0.0)
    ) * v0_33;
    y11_0 += product;
    targets.target_0 = y00_0;
    targets.target_1 = y01_0;
    targets.target_2 = y10_0;
    targets.target_3 = y11_0;
    return targets;
}
