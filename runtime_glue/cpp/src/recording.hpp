// The GL calls of one frame, worked out beforehand. Redundant binds are left out when they are.

#ifndef SHADERGEN_RECORDING_HPP
#define SHADERGEN_RECORDING_HPP

#include "commands.hpp"
#include "programs.hpp"
#include "schedule.hpp"
#include "textures.hpp"

namespace shadergen {

// What an external texture is read through, which a frame looks at where it lies.
constexpr std::size_t matrix_size = 16;
struct Matrix {
    std::int32_t texture = none;
    float numbers[matrix_size] = {};  // column by column
};

// GL objects of a runner: textures and buffers by their index in the schedule, the rest by pass.
struct Bound {
    Name vertex_array = 0, sampler = 0;
    const List<PassProgram>* programs = nullptr;
    const List<Name>* framebuffers = nullptr;
    const List<GLTextures>* textures = nullptr;
    const List<Matrix>* matrices = nullptr;
    const List<Name>* buffers = nullptr;
};

// State of the application that would change what is drawn, and is off in a frame.
extern const Enum capabilities[];
extern const std::size_t capability_count;          // of OpenGL ES
extern const std::size_t desktop_capability_count;  // of OpenGL: those and more

// What a frame binds, whatever textures it runs with.
struct Touched {
    Uint units = 0;
    bool external = false;  // external textures
    List<Uint> images;
    List<Binding> buffers;
};
Touched touched_by(const Schedule& schedule, const List<PassProgram>& programs);

class Frame {
public:
    // Work out the calls of a frame. Allocates the first time, then only for more.
    void record(const GL& gl, const Schedule& schedule, const Bound& bound);
    // Leave what was bound at zero.
    static void leave_at_zero(const Touched& touched, Commands& after);

    Commands calls;           // of all passes and what goes before them
    List<std::size_t> draws;  // which of them draw or dispatch, by pass
    bool barrier_after = false;

private:
    struct Place {
        Enum target;
        Uint index;
        Name name;
    };
    struct Image {
        Uint unit;
        Command command;
    };

    void record_pass(const Schedule& schedule, const Bound& bound, std::size_t index);
    void bind_reads(const Schedule& schedule, const Bound& bound, std::size_t index);
    void bind_external(const Bound& bound, std::int32_t texture, Int location);
    void bind_blocks(const Schedule& schedule, const Bound& bound, std::size_t index);
    void bind_image(const Schedule& schedule, const Bound& bound, std::int32_t unit,
                    const Ref& texture, std::int32_t layer, Enum access);
    static bool replace(List<Place>& places, Enum target, Uint index, Name name);
    void set(Command::Kind kind, std::initializer_list<Uint> arguments);

    List<Place> textures_, buffers_;
    List<Name> samplers_;  // by unit
    List<Image> images_;
    Command last_[Command::viewport + 1] = {};  // of each kind
};

}  // namespace shadergen

#endif
