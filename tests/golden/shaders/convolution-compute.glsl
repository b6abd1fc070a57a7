#version 310 es
// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform int u_width_in;
uniform int u_height_in;
uniform int u_rows_per_tap;
uniform int u_span_bits;
uniform int u_blocks_across;
uniform int u_blocks_down;
uniform int u_planes;
layout(std140) uniform Weights { vec4 weights[8]; };

layout(local_size_x = 64) in;
layout(rgba32f, binding = 0) writeonly uniform highp image2D u_result;

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(u_width_in, u_height_in) - 1);
    bool inside = nearest == p;
    vec4 texel = texelFetch(u_x, nearest, 0);
    return inside ? texel : vec4(0.0);
}

vec4 weight(int i) { return weights[i]; }

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_relu(y); }

void store(ivec2 pixel, vec4 result) { imageStore(u_result, pixel, epilogue(result)); }

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
    int weight_row = plane * 2 * u_rows_per_tap;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 tap = corner + ivec2(kx, 0);
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
        weight_row += 4;
    }
    store(pixel, result);
}
