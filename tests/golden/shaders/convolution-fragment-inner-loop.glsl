#version 300 es
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

layout(location = 0) out vec4 target_0;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i & 7, i >> 3), 0); }

vec4 load_x(ivec2 p, int plane) { return texelFetch(u_x, ivec3(p, plane), 0); }

ivec2 weight_position(int i) { return ivec2(i & 7, i >> 3); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel;
    vec4 result = weight(32);
    int weight_row = 0;
    ivec2 tap = corner;
    // Compilers unroll the inner loop, and issue its loads together.
    for (int first_input_plane = 0; first_input_plane < 8; first_input_plane += 4) {
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
    target_0 = result;
}
