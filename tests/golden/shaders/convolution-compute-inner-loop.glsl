#version 310 es
// conv: convolution 1x1, 32 to 4 channels
// reads  x: float32 1x32x4x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   1024 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x;
uniform sampler2D u_weights;
uniform int u_planes_in;
uniform int u_rows_per_tap;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;
uniform int u_weights_mask;
uniform int u_weights_shift;

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p, int plane) { return texelFetch(u_x, ivec3(p, plane), 0); }

ivec2 weight_position(int i) { return ivec2(i & u_weights_mask, i >> u_weights_shift); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

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
    ivec2 corner = pixel;
    vec4 result = vec4(0.0, 0.5, 1.0, 1.5);
    int weight_row = plane * u_rows_per_tap;
    ivec2 tap = corner;
    // Compilers unroll the inner loop, and issue its loads together.
    for (int first_input_plane = 0; first_input_plane < u_planes_in; first_input_plane += 4) {
        for (int input_plane_offset = 0; input_plane_offset < 4; ++input_plane_offset) {
            int input_plane = first_input_plane + input_plane_offset;
            vec4 texel = load_x(tap, input_plane);
            {
                ivec2 at = weight_position(weight_row);
                vec4 w0 = weight_at(at);
                result += w0 * texel.x;
                vec4 w1 = weight_at(at + ivec2(1, 0));
                result += w1 * texel.y;
                vec4 w2 = weight_at(at + ivec2(2, 0));
                result += w2 * texel.z;
                vec4 w3 = weight_at(at + ivec2(3, 0));
                result += w3 * texel.w;
            }
            weight_row += 4;
        }
    }
    store(pixel, result);
}
