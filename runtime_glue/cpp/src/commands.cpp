#include "commands.hpp"

#include <cstring>

namespace shadergen {

namespace {

Int whole(Uint bits) { return static_cast<Int>(bits); }

float real(Uint bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

std::uint8_t truth(Uint value) { return static_cast<std::uint8_t>(value != 0); }

std::ptrdiff_t wide(Uint low, Uint high) {
    return static_cast<std::ptrdiff_t>(std::uint64_t{high} << 32 | low);
}

void play_uniform(const GL& gl, const Command& command) {
    const Uint* a = command.a;
    const Int location = whole(a[0]);
    switch (command.type) {
        case UniformType::int_: return gl.Uniform1i(location, whole(a[1]));
        case UniformType::ivec2: return gl.Uniform2i(location, whole(a[1]), whole(a[2]));
        case UniformType::float_: return gl.Uniform1f(location, real(a[1]));
        case UniformType::vec4:
            return gl.Uniform4f(location, real(a[1]), real(a[2]), real(a[3]), real(a[4]));
    }
}

}  // namespace

Command call(Command::Kind kind, std::initializer_list<Uint> arguments) {
    Command command{kind};
    std::size_t i = 0;
    for (const Uint argument : arguments) command.a[i++] = argument;
    return command;
}

void add(Commands& calls, Command::Kind kind, std::initializer_list<Uint> arguments) {
    calls.push_back(call(kind, arguments));
}

Command set_uniform(const Uniform& uniform, Int location) {
    Command command{Command::uniform, uniform.type};
    command.a[0] = static_cast<Uint>(location);
    std::memcpy(command.a + 1, uniform.value.data(), sizeof uniform.value);
    return command;
}

void replay(const GL& gl, const Command* first, const Command* last) {
    for (; first != last; ++first) {
        const Uint* a = first->a;
        switch (first->kind) {
            case Command::active_texture: gl.ActiveTexture(a[0]); break;
            case Command::bind_buffer: gl.BindBuffer(a[0], a[1]); break;
            case Command::bind_buffer_base: gl.BindBufferBase(a[0], a[1], a[2]); break;
            case Command::bind_buffer_range:
                gl.BindBufferRange(a[0], a[1], a[2], wide(a[3], a[4]), wide(a[5], a[6]));
                break;
            case Command::bind_framebuffer: gl.BindFramebuffer(a[0], a[1]); break;
            case Command::bind_image:
                gl.BindImageTexture(a[0], a[1], whole(a[2]), truth(a[3]), whole(a[4]), a[5], a[6]);
                break;
            case Command::bind_sampler: gl.BindSampler(a[0], a[1]); break;
            case Command::bind_texture: gl.BindTexture(a[0], a[1]); break;
            case Command::bind_vertex_array: gl.BindVertexArray(a[0]); break;
            case Command::color_mask:
                gl.ColorMask(truth(a[0]), truth(a[1]), truth(a[2]), truth(a[3]));
                break;
            case Command::disable: gl.Disable(a[0]); break;
            case Command::dispatch: gl.DispatchCompute(a[0], a[1], a[2]); break;
            case Command::draw: gl.DrawArrays(gl::TRIANGLES, 0, 3); break;
            case Command::enable: gl.Enable(a[0]); break;
            case Command::matrix: gl.UniformMatrix4fv(whole(a[0]), 1, 0, first->numbers); break;
            case Command::memory_barrier: gl.MemoryBarrier(a[0]); break;
            case Command::pixel_store: gl.PixelStorei(a[0], whole(a[1])); break;
            case Command::polygon_mode: gl.PolygonMode(gl::FRONT_AND_BACK, a[0]); break;
            case Command::uniform: play_uniform(gl, *first); break;
            case Command::use_program: gl.UseProgram(a[0]); break;
            case Command::viewport:
                gl.Viewport(whole(a[0]), whole(a[1]), whole(a[2]), whole(a[3]));
                break;
        }
    }
}

}  // namespace shadergen
