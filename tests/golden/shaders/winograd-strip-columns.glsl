#version 300 es
// conv: Winograd output transform of columns, 4x4 tiles
// reads  conv (from the step before): float32 1x16x6x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_columns;
uniform int u_patch_rows;

layout(location = 0) out vec4 target_0;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    // The first transformed row of the pixel's tile.
    ivec2 first = ivec2(pixel.x / 4, pixel.y / 4 * 6);
    int layer = pixel.x % 4;
    int line = pixel.y % 4;
    vec4 factors0_0 = line == 0 ? vec4(1.0, 1.0, 1.0, 1.0) : (line == 1 ? vec4(0.0, 0.75, -0.75, 1.5) : (line == 2 ? vec4(0.0, 0.5625, 0.5625, 2.25) : vec4(0.0, 0.421875, -0.421875, 3.375)));
    vec4 factors0_4 = line == 0 ? vec4(1.0, 0.0, 0.0, 0.0) : (line == 1 ? vec4(-1.5, 0.0, 0.0, 0.0) : (line == 2 ? vec4(2.25, 0.0, 0.0, 0.0) : vec4(-3.375, 1.0, 0.0, 0.0)));
    vec4 result = vec4(0.0);
    for (int patch_row = 0; patch_row < u_patch_rows; ++patch_row) {
        vec4 d0 = texelFetch(u_x, ivec3(first + ivec2(0 * u_columns, patch_row), layer), 0);
        // Move the next factor to the front: Mali is slow with variable array indices.
        float factor0 = factors0_0.x;
        result += factor0 * d0;
        factors0_0 = vec4(factors0_0.yzw, factors0_4.x);
        factors0_4 = vec4(factors0_4.yzw, factors0_0.x);
    }
    target_0 = result;
}
