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

layout(location = 0) out vec4 o_0;

vec4 load_x(ivec2 p, int plane) {
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

vec4 f_relu(vec4 x_) { return max(x_, 0.0); }

vec4 epilogue(vec4 y) { return f_relu(y); }

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    ivec2 corner = o;
    vec4 a0 = vec4(0.0, 0.5, 1.0, 1.5);
    vec4 v;
    // tap (0, 0), input plane 0
    v = load_x(corner, 0);
    a0 += vec4(-0.75, -0.5, -0.25, 0.0) * v.x;
    a0 += vec4(-0.25, 0.0, 0.25, 0.5) * v.y;
    a0 += vec4(0.25, 0.5, 0.75, -0.75) * v.z;
    a0 += vec4(0.75, -0.75, -0.5, -0.25) * v.w;
    // tap (0, 1), input plane 0
    v = load_x(corner + ivec2(1, 0), 0);
    a0 += vec4(-0.5, -0.25, 0.0, 0.25) * v.x;
    a0 += vec4(0.0, 0.25, 0.5, 0.75) * v.y;
    a0 += vec4(0.5, 0.75, -0.75, -0.5) * v.z;
    a0 += vec4(-0.75, -0.5, -0.25, 0.0) * v.w;
    o_0 = epilogue(a0);
}
