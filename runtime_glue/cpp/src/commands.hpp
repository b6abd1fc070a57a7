// GL calls as data, worked out beforehand and run without looking anything up.

#ifndef SHADERGEN_COMMANDS_HPP
#define SHADERGEN_COMMANDS_HPP

#include "gl.hpp"
#include "schedule.hpp"

namespace shadergen {

struct Command {
    enum Kind : std::uint8_t {
        active_texture,
        bind_buffer,
        bind_buffer_base,
        bind_buffer_range,
        bind_framebuffer,
        bind_image,
        bind_sampler,
        bind_texture,
        bind_vertex_array,
        color_mask,
        disable,
        dispatch,
        draw,
        enable,
        matrix,
        memory_barrier,
        pixel_store,
        polygon_mode,
        uniform,
        use_program,
        viewport,
    };
    Kind kind;
    UniformType type = UniformType::int_;  // of a uniform
    Uint a[7] = {};                        // the call's arguments, floats as their bits
    const float* numbers = nullptr;        // of a matrix, where they lie
};

using Commands = List<Command>;

Command call(Command::Kind kind, std::initializer_list<Uint> arguments);
void add(Commands& calls, Command::Kind kind, std::initializer_list<Uint> arguments);
Command set_uniform(const Uniform& uniform, Int location);

void replay(const GL& gl, const Command* first, const Command* last);
inline void replay(const GL& gl, const Commands& commands) {
    replay(gl, commands.begin(), commands.end());
}

}  // namespace shadergen

#endif
