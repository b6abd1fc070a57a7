#version 300 es
// conv, relu: convolution 1x2, 4 to 4 channels, then relu(y)
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes relu: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   256 multiply-adds

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
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

ivec2 weight_position(int i) { return ivec2(i & 3, i >> 2); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_relu(y); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel;
    vec4 result = weight(8);
    int weight_row = 0;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 tap = corner + ivec2(kx, 0);
        vec4 texel = load_x(tap);
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
    target_0 = epilogue(result);
}
