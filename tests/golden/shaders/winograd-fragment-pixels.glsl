#version 300 es
// conv: DepthToSpace
// reads  conv (from the step before): float32 1x16x2x1, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_value;

layout(location = 0) out vec4 target_0;

vec4 load_value(int row, int column, int channel) {
    return texelFetch(u_value, ivec3(0, row >> 1, ((row & 1) * 8 + column * 4 + channel) >> 2), 0);
}

vec4 compute(int row, int column) { return load_value(row, column, 0); }

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec4 result = compute(pixel.y, pixel.x);
    target_0 = result;
}
