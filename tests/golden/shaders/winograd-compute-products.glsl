#version 310 es
// conv: Winograd products, 2x2 tiles: convolution 1x1, 4 to 4 channels
// reads  conv (from the step before): float32 1x4x16x2, rgba32f array
// writes conv: float32 1x4x16x2, rgba32f array, plane 0 of 1
// cost   512 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform int u_rows_per_tap;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;
layout(std140) uniform Weights { vec4 weights[64]; };

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2DArray u_result;

vec4 load_x(ivec2 p) { return texelFetch(u_x, ivec3(p, 0), 0); }

vec4 weight(int i) { return weights[i]; }

void store(ivec2 pixel, int plane, vec4 result) {
    imageStore(u_result, ivec3(pixel, plane), result);
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
    int position = pixel.y % 16;
    float bias_share = (position / 4 == 1 ? 1.0 : 0.0) * (position % 4 == 1 ? 1.0 : 0.0);
    vec4 result = bias_share * vec4(0.0, 0.5, 1.0, 1.5);
    int weight_row = (plane * 16 + pixel.y % 16) * u_rows_per_tap;
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
    store(pixel, plane, result);
}
