#version 300 es
// conv: Winograd input transform, 4x4 tiles
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes conv: float32 1x24x6x2, rgba32f array, planes 0 to 2 of 6

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_columns;
uniform int u_height_in;
uniform int u_width_in;
uniform int u_patch_rows;

layout(location = 0) out vec4 target_0;
layout(location = 1) out vec4 target_1;
layout(location = 2) out vec4 target_2;

vec4 load_inside(ivec2 p) { return texelFetch(u_x, p, 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    int plane_of_strip = pixel.x / u_columns;
    int column = pixel.x - plane_of_strip * u_columns;
    // The first pixel of the tile, and the row of its transformed patch.
    ivec2 corner = ivec2(column, pixel.y / 6) * 4 - ivec2(1, 1);
    int patch_line = pixel.y % 6;
    int first_row = min(patch_line, 1);
    int row_step = patch_line == 0 || patch_line == 5 ? 2 : 1;
    // In place of columns outside the map, load the nearest.
    int x0 = max(min(corner.x, u_width_in - 1), 0);
    int x1 = min(corner.x + 1, u_width_in - 1);
    int x2 = min(corner.x + 2, u_width_in - 1);
    int x3 = min(corner.x + 3, u_width_in - 1);
    int x4 = min(corner.x + 4, u_width_in - 1);
    // If the number of rows is known, VideoCore unrolls the loop and spills.
    int line = patch_line;
    vec4 factors0_0 = line == 0 ? vec4(1.265625, -2.8125, 1.0, 0.0) : (line == 1 ? vec4(-1.6875, -2.25, 0.75, 1.0) : (line == 2 ? vec4(1.6875, -2.25, -0.75, 1.0) : (line == 3 ? vec4(-0.84375, -0.5625, 1.5, 1.0) : (line == 4 ? vec4(0.84375, -0.5625, -1.5, 1.0) : vec4(1.265625, -2.8125, 1.0, 0.0)))));
    vec4 s0 = vec4(0.0);
    vec4 s1 = vec4(0.0);
    vec4 s2 = vec4(0.0);
    vec4 s3 = vec4(0.0);
    vec4 s4 = vec4(0.0);
    for (int patch_row = 0; patch_row < u_patch_rows; ++patch_row) {
        // d: a row of the patch. Add d, times the factor of this row, to the sums.
        int y = corner.y + min(first_row + patch_row * row_step, 5);
        int nearest_y = min(max(y, 0), u_height_in - 1);
        vec4 d0 = load_inside(ivec2(x0, nearest_y));
        vec4 d1 = load_inside(ivec2(x1, nearest_y));
        vec4 d2 = load_inside(ivec2(x2, nearest_y));
        vec4 d3 = load_inside(ivec2(x3, nearest_y));
        vec4 d4 = load_inside(ivec2(x4, nearest_y));
        // Move the next factor to the front: Mali is slow with variable array indices.
        float factor0 = nearest_y == y ? factors0_0.x : 0.0;
        s0 += factor0 * d0;
        s1 += factor0 * d1;
        s2 += factor0 * d2;
        s3 += factor0 * d3;
        s4 += factor0 * d4;
        factors0_0 = vec4(factors0_0.yzw, factors0_0.x);
    }
    vec4 t0 = x0 == corner.x ? s0 : vec4(0.0);
    vec4 t1 = x1 == corner.x + 1 ? s1 : vec4(0.0);
    vec4 t2 = x2 == corner.x + 2 ? s2 : vec4(0.0);
    vec4 t3 = x3 == corner.x + 3 ? s3 : vec4(0.0);
    vec4 t4 = x4 == corner.x + 4 ? s4 : vec4(0.0);
    vec4 p = t4 - 2.25 * t2;
    vec4 q = t3 - 2.25 * t1;
    vec4 value0 = 1.265625 * t0 - 2.8125 * t2 + t4;
    vec4 value1 = p + 0.75 * q;
    vec4 value2 = p - 0.75 * q;
    target_0 = value0;
    target_1 = value1;
    target_2 = value2;
}
