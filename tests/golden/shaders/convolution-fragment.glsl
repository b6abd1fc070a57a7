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
layout(std140) uniform Weights { vec4 weights[9]; };

layout(location = 0) out vec4 o_0;

vec4 weight(int i) { return weights[i]; }

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

mat4 tile(int i) {
    return mat4(
        weights[i],
        weights[i + 1],
        weights[i + 2],
        weights[i + 3]
    );
}

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
            mat4 w = tile(k);
            a0 += w[0] * v.x;
            a0 += w[1] * v.y;
            a0 += w[2] * v.z;
            a0 += w[3] * v.w;
        }
        k += 4;
    }
    o_0 = epilogue(a0);
}
