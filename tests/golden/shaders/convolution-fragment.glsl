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

layout(location = 0) out vec4 o_0;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i & 3, i >> 2), 0); }

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

ivec2 weight_place(int i) { return ivec2(i & 3, i >> 2); }

vec4 weight_at(ivec2 at) { return texelFetch(u_weights, at, 0); }

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_relu(y); }

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    ivec2 corner = o;
    vec4 a0 = weight(8);
    int k = 0;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 p = corner + ivec2(kx, 0);
        vec4 v = load_x(p, 0);
        {
            ivec2 at = weight_place(k);
            vec4 w0 = weight_at(at);
            a0 += w0 * v.x;
            vec4 w1 = weight_at(at + ivec2(1, 0));
            a0 += w1 * v.y;
            vec4 w2 = weight_at(at + ivec2(2, 0));
            a0 += w2 * v.z;
            vec4 w3 = weight_at(at + ivec2(3, 0));
            a0 += w3 * v.w;
        }
        k += 4;
    }
    o_0 = epilogue(a0);
}
