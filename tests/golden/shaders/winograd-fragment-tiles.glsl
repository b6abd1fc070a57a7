#version 300 es
// conv: convolution 3x3, 4 to 4 channels, by Winograd with 2x2 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x16x2x1, rgba32f array, planes 0, 1, 2, 3 of 4
// cost   512 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;
layout(location = 2) out vec4 target_2;
layout(location = 3) out vec4 target_3;

void transform(vec4 a, vec4 b, vec4 c, vec4 d, out vec4 t0, out vec4 t1, out vec4 t2, out vec4 t3) {
    t0 = a - c;
    t1 = b + c;
    t2 = c - b;
    t3 = b - d;
}

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

void transform_row(ivec2 p, out vec4 t0, out vec4 t1, out vec4 t2, out vec4 t3) {
    transform(load_x(p), load_x(p + ivec2(1, 0)), load_x(p + ivec2(2, 0)), load_x(p + ivec2(3, 0)), t0, t1, t2, t3);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    // This pixel computes a tile of 2x2 pixels of the map; y: the sums of the tile.
    ivec2 corner = pixel * 2 - ivec2(1, 1);
    vec4 t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33;
    // the patch of input plane 0
    transform_row(corner, t00, t01, t02, t03);
    transform_row(corner + ivec2(0, 1), t10, t11, t12, t13);
    transform_row(corner + ivec2(0, 2), t20, t21, t22, t23);
    transform_row(corner + ivec2(0, 3), t30, t31, t32, t33);
    vec4 v0_00, v0_10, v0_20, v0_30;
    transform(t00, t10, t20, t30, v0_00, v0_10, v0_20, v0_30);
    vec4 v0_01, v0_11, v0_21, v0_31;
    transform(t01, t11, t21, t31, v0_01, v0_11, v0_21, v0_31);
    vec4 v0_02, v0_12, v0_22, v0_32;
    transform(t02, t12, t22, t32, v0_02, v0_12, v0_22, v0_32);
    vec4 v0_03, v0_13, v0_23, v0_33;
    transform(t03, t13, t23, t33, v0_03, v0_13, v0_23, v0_33);
    vec4 y00_0 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 y01_0 = y00_0;
    vec4 y10_0 = y00_0;
    vec4 y11_0 = y00_0;
    vec4 product;
    // position (0, 0)
//// 132 lines are not stored
        vec4(0.5, -0.25, -0.125, 0.0),
        vec4(-0.125, 0.0, 0.125, 0.25),
        vec4(0.125, 0.25, -0.5, 0.5),
        vec4(-0.5, 0.5, -0.25, -0.125)
    ) * v0_32;
    y10_0 -= product;
    y11_0 += product;
    // position (3, 3)
    product = mat4(
        vec4(-0.5, -0.25, 0.0, 0.25),
        vec4(0.0, 0.25, 0.5, 0.75),
        vec4(0.5, 0.75, -0.75, -0.5),
        vec4(-0.75, -0.5, -0.25, 0.0)
    ) * v0_33;
    y11_0 += product;
    target_0 = y00_0;
    target_1 = y01_0;
    target_2 = y10_0;
    target_3 = y11_0;
}
