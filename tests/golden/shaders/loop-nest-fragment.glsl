#version 300 es
// pool: Pool, loops tap_row < 2, tap_column < 2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes pool: float32 1x4x3x1, rgba32f 2d, plane 0 of 1
// cost   48 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_value;

layout(location = 0) out vec4 target_0;

vec4 load_value(int row, int tap_row, int tap_column) {
    return texelFetch(u_value, ivec2(tap_column, row + tap_row), 0);
}

vec4 compute(int row) {
    vec4 maximum = vec4(-3.4028235e+38);
    for (int tap_row = 0; tap_row < 2; ++tap_row) {
        for (int tap_column = 0; tap_column < 2; ++tap_column) {
            vec4 value = load_value(row, tap_row, tap_column);
            maximum = max(maximum, value);
        }
    }
    return maximum;
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y);
    target_0 = result;
}
