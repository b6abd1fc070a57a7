//// shaders/00_twice.frag
#version 300 es
// twice: ResizeLinear of 1
// reads  x: float32 1x3x4x5, rgba32f 2d
// writes twice: float32 1x3x8x10, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x0;

layout(location = 0) out vec4 o_0;

vec4 load_u4(int u0, int u2) {
    return texelFetch(u_x0, ivec2(clamp(u2, 0, 4), clamp(u0, 0, 3)), 0);
}

vec4 compute(int y, int x) {
    float u0 = floor((2.0 * float(y) - 1.0) * 0.25);
    int u0_at = int(floor(u0 + 0.5));
    float u1 = (2.0 * float(y) - 1.0) * 0.25 - u0;
    float u2 = floor((2.0 * float(x) - 1.0) * 0.25);
    int u2_at = int(floor(u2 + 0.5));
    float u3 = (2.0 * float(x) - 1.0) * 0.25 - u2;
    vec4 u4 = load_u4(u0_at, u2_at);
    vec4 u5 = load_u4(u0_at, u2_at + 1);
    vec4 u6 = load_u4(u0_at + 1, u2_at);
    vec4 u7 = load_u4(u0_at + 1, u2_at + 1);
    vec4 t0 = u4 + u3 * (u5 - u4);
    return t0 + u1 * (u6 + u3 * (u7 - u6) - t0);
}

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    vec4 a0 = compute(o.y, o.x);
    o_0 = vec4(a0.xyz, 0.0);
}

//// shaders/01_wider.frag
#version 300 es
// wider: ResizeLinear of 1
// reads  twice: float32 1x3x8x10, rgba32f array
// writes wider: float32 1x3x8x15, rgba32f array, plane 0 of 1

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2DArray u_x0;

layout(location = 0) out vec4 o_0;

vec4 load_u2(int y, int u0) { return texelFetch(u_x0, ivec3(ivec2(clamp(u0, 0, 9), y), 0), 0); }

vec4 compute(int y, int x) {
    float u0_0 = 2.0 * float(x);
    float u0_1 = floor(u0_0 / 3.0);
    float u0 = u0_1 + floor((u0_0 - 3.0 * u0_1) / 3.0);
    int u0_at = int(floor(u0 + 0.5));
    float u1 = (2.0 * float(x) - 3.0 * u0) / 3.0;
    vec4 u2 = load_u2(y, u0_at);
    vec4 u3 = load_u2(y, u0_at + 1);
    return u2 + u1 * (u3 - u2);
}

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    vec4 a0 = compute(o.y, o.x);
    o_0 = vec4(a0.xyz, 0.0);
}

//// shaders/02_table.frag
#version 300 es
// table: Resample of 3, loops 4
// reads  wider: float32 1x3x8x15, rgba32f array
// reads  starts: int32 4, rgba32f 2d
// reads  weights: float32 4x4, rgba32f 2d
// writes table: float32 1x3x4x15, rgba32f 2d, plane 0 of 1
// cost   720 multiply-adds

precision highp float;
precision highp int;
precision highp sampler2D;
precision highp sampler2DArray;

uniform sampler2D u_x1;
uniform sampler2D u_x2;
uniform sampler2DArray u_x0;

layout(location = 0) out vec4 o_0;

float lane(vec4 v, int i) {
    vec2 pair = i < 2 ? v.xy : v.zw;
    return (i & 1) == 0 ? pair.x : pair.y;
}

float load_u0(int y) { return lane(texelFetch(u_x1, ivec2(0, 0), 0), y & 3); }

vec4 load_v0(int y) { return texelFetch(u_x2, ivec2(0, y), 0); }

vec4 load_v1(int u0, int k0, int x) {
    return texelFetch(u_x0, ivec3(ivec2(x, clamp(u0 + k0, 0, 7)), 0), 0);
}

vec4 compute(int y, int x) {
    float u0 = load_u0(y);
    int u0_at = int(floor(u0 + 0.5));
    vec4 a = vec4(0.0);
    vec4 v0_texel = load_v0(y);
    {
        float v0 = v0_texel.x;
        vec4 v1 = load_v1(u0_at, 0, x);
        a = a + v0 * v1;
    }
    {
        float v0 = v0_texel.y;
        vec4 v1 = load_v1(u0_at, 1, x);
        a = a + v0 * v1;
    }
    {
        float v0 = v0_texel.z;
        vec4 v1 = load_v1(u0_at, 2, x);
        a = a + v0 * v1;
    }
    {
        float v0 = v0_texel.w;
        vec4 v1 = load_v1(u0_at, 3, x);
        a = a + v0 * v1;
    }
    return a;
}

void main() {
    ivec2 o = ivec2(gl_FragCoord.xy);
    vec4 a0 = compute(o.y, o.x);
    o_0 = vec4(a0.xyz, 0.0);
}
