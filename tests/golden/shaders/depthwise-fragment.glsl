#version 300 es
// depthwise: convolution 1x2, 4 to 4 channels in 4 groups
// reads  x: float32 1x4x4x2, rgba32f 2d
// writes depthwise: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   64 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x;
uniform sampler2D u_weights;

layout(location = 0) out vec4 o_0;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i, 0), 0); }

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    ivec2 corner = o;
    vec4 a0 = weight(2);
    int k = 0;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 p = corner + ivec2(kx, 0);
        vec4 v = load_x(p, 0);
        {
            vec4 w = weight(k);
            a0 += w * v;
        }
        k += 1;
    }
    o_0 = a0;
}
