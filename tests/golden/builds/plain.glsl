//// shaders/00_leaky.frag
#version 300 es
// conv, norm, leaky: convolution 3x3, 1 to 2 channels, then leaky_relu(y, 0.25)
// reads  gray: float32 1x1x6x5, r32f 2d
// writes leaky: float32 1x2x6x5, rg32f 2d, plane 0 of 1
// cost   540 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform sampler2D u_weights;

layout(location = 0) out vec4 target_0;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i & 3, i >> 2), 0); }

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(5, 6) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

vec4 f_leaky_relu(vec4 x_, vec4 alpha_) { return max(x_, 0.0) + alpha_ * min(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_leaky_relu(y, vec4(0.25)); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel - ivec2(1, 1);
    vec4 result = weight(9);
    int weight_row = 0;
    for (int ky = 0; ky < 3; ++ky) {
        for (int kx = 0; kx < 3; ++kx) {
            ivec2 tap = corner + ivec2(kx, ky);
            vec4 texel = load_x(tap);
            {
                vec4 w = weight(weight_row);
                result += w * texel.x;
            }
            weight_row += 1;
        }
    }
    target_0 = vec4(epilogue(result).xy, 0.0, 0.0);
}
