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

layout(location = 0) out vec4 target_0;

vec4 weight(int i) { return texelFetch(u_weights, ivec2(i, 0), 0); }

vec4 load_x(ivec2 p) {
    // Outside the map, return the padding: 0.
    ivec2 nearest = min(max(p, ivec2(0)), ivec2(2, 4) - 1);
    bool inside = nearest == p;
    return inside ? texelFetch(u_x, nearest, 0) : vec4(0.0);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    ivec2 corner = pixel;
    vec4 result = weight(2);
    int weight_row = 0;
    for (int kx = 0; kx < 2; ++kx) {
        ivec2 tap = corner + ivec2(kx, 0);
        vec4 texel = load_x(tap);
        {
            vec4 w = weight(weight_row);
            result += w * texel;
        }
        weight_row += 1;
    }
    target_0 = result;
}
