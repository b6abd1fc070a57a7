#version 310 es
// pool: Pool, loops tap_row < 2, tap_column < 2
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes pool: float32 1x4x3x1, rgba32f 2d, plane 0 of 1
// cost   48 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_value;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

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

void store(ivec2 pixel, vec4 result) { imageStore(u_result, pixel, result); }

void main() {
    // An invocation computes a block: 1 pixel of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row);
    vec4 result = compute(pixel.y);
    store(pixel, result);
}
