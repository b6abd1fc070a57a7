// conv: convolution 1x1, 32 to 4 channels
// reads  x: float32 1x32x4x2, rgba32f array
// writes conv: float32 1x4x4x2, rgba32f 2d, plane 0 of 1
// cost   1024 multiply-adds

@group(0) @binding(0) var u_x: texture_2d_array<f32>;
@group(0) @binding(1) var u_weights: texture_2d<f32>;

struct Targets {
    @location(0) target_0: vec4f,
}

fn weight(i: i32) -> vec4f { return textureLoad(u_weights, vec2i(i & 7, i >> u32(3)), 0); }

fn load_x(p: vec2i, plane: i32) -> vec4f { return textureLoad(u_x, p, plane, 0); }

fn weight_position(i: i32) -> vec2i { return vec2i(i & 7, i >> u32(3)); }

fn weight_at(at: vec2i) -> vec4f { return textureLoad(u_weights, at, 0); }

@fragment
fn main(@builtin(position) fragment_position: vec4f) -> Targets {
    var targets: Targets;
    var pixel: vec2i = vec2i(fragment_position.xy);
    var corner: vec2i = pixel;
    var result: vec4f = weight(32);
    var weight_row: i32 = 0;
    var tap: vec2i = corner;
    // Compilers unroll the inner loop, and issue its loads together.
    for (var first_input_plane = 0; first_input_plane < 8; first_input_plane += 4) {
        for (var input_plane_offset = 0; input_plane_offset < 4; input_plane_offset += 1) {
            var input_plane: i32 = first_input_plane + input_plane_offset;
            var texel: vec4f = load_x(tap, input_plane);
            {
                var at: vec2i = weight_position(weight_row);
                var w0: vec4f = weight_at(at);
                result += w0 * texel.x;
                var w1: vec4f = weight_at(at + vec2i(1, 0));
                result += w1 * texel.y;
                var w2: vec4f = weight_at(at + vec2i(2, 0));
                result += w2 * texel.z;
                var w3: vec4f = weight_at(at + vec2i(3, 0));
                result += w3 * texel.w;
            }
            weight_row += 4;
        }
    }
    targets.target_0 = result;
    return targets;
}
