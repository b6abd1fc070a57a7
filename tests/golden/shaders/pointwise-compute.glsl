#version 310 es
// swish: element-wise x0 * sigmoid(x0)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes swish: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x0;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 f_sigmoid_of(vec4 x_, vec4 e_) {
    return mix(vec4(1.0), e_, lessThan(x_, vec4(0.0))) / (1.0 + e_);
}

vec4 f_sigmoid(vec4 x_) { return f_sigmoid_of(x_, exp(-abs(x_))); }

vec4 epilogue(vec4 x0) { return x0 * f_sigmoid(x0); }

void store(ivec2 pixel) { imageStore(u_result, pixel, epilogue(texelFetch(u_x0, pixel, 0))); }

void main() {
    // An invocation computes a block: 1 pixel of 1 plane.
    // A workgroup computes consecutive blocks, row by row. The remaining invocations compute further planes.
    int invocation = int(gl_LocalInvocationID.x);
    int block = (int(gl_WorkGroupID.x) << u_span_bits) + (invocation & ((1 << u_span_bits) - 1));
    int plane = int(gl_WorkGroupID.y) * (64 >> u_span_bits) + (invocation >> u_span_bits);
    if (block >= u_blocks_across * u_blocks_down || u_planes <= plane) return;
    int row = block / u_blocks_across;
    ivec2 pixel = ivec2(block - row * u_blocks_across, row);
    store(pixel);
}
