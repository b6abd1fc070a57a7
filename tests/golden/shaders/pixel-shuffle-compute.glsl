#version 310 es
// conv, shuffle: convolution 1x1, 4 to 4 channels, then stored by DepthToSpace
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes shuffle: float32 1x1x8x4, r32f 2d, plane 0 of 1
// cost   128 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_rows_per_tap;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;
layout(std140) uniform Weights { vec4 weights[4]; };

layout(local_size_x = 64) in;
layout(r32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p) { return texelFetch(u_x, p, 0); }

vec4 weight(int i) { return weights[i]; }

void store(ivec2 pixel, vec4 result) {
    vec4 value_p0 = result;
    ivec2 shuffled = pixel * ivec2(2, 2);
    imageStore(u_result, shuffled, value_p0);
    imageStore(u_result, shuffled + ivec2(1, 0), value_p0.yzwx);
    imageStore(u_result, shuffled + ivec2(0, 1), value_p0.zwxy);
    imageStore(u_result, shuffled + ivec2(1, 1), value_p0.wxyz);
}

void main() {
    // An invocation computes a block: 1 pixel of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row);
    ivec2 corner = pixel;
    vec4 result = vec4(0.0, 0.5, 1.0, 1.5);
    int weight_row = plane * u_rows_per_tap;
    ivec2 tap = corner;
    vec4 texel = load_x(tap);
    {
        vec4 w0 = weight(weight_row);
        result += w0 * texel.x;
        vec4 w1 = weight(weight_row + 1);
        result += w1 * texel.y;
        vec4 w2 = weight(weight_row + 2);
        result += w2 * texel.z;
        vec4 w3 = weight(weight_row + 3);
        result += w3 * texel.w;
    }
    store(pixel, result);
}
