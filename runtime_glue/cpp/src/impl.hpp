// What a Player holds.

#ifndef SHADERGEN_IMPL_HPP
#define SHADERGEN_IMPL_HPP

#include "device.hpp"
#include "gl.hpp"
#include "objects.hpp"
#include "programs.hpp"
#include "recording.hpp"
#include "schedule.hpp"
#include "state.hpp"
#include "text.hpp"
#include "textures.hpp"

namespace shadergen {

inline std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// The GL objects whose sizes are those of the build's tensors.
struct Sized {
    explicit Sized(const GL& gl) : objects(gl) {}

    Objects objects;
    List<GLTextures> textures;  // by tensor: the player's, or what the application bound
    List<GLTextures> uploads;   // by input
    List<Name> framebuffers;    // by pass: 0 of those that dispatch
    List<char> foreign;         // by pass: whether its framebuffer is the application's
};

struct Player::Impl {
    Impl(Build build_, Options options_)
        : build(std::move(build_)), options(std::move(options_)), fixed(gl), sized(gl) {}

    Build build;
    Options options;
    GL gl{};  // all null
    Device device;
    bool ready = false, recorded = false, timed = false;
    Objects fixed;  // of no size
    Sized sized;
    Programs programs;
    Name vertex_array = 0, sampler = 0, read_framebuffer = 0;
    List<Name> buffers, queries;
    List<GLTextures> constants;  // by tensor
    List<Matrix> matrices;       // of external inputs
    Touched touched;
    Frame frame;
    Commands after;    // leaves zeros, or what save_state() found
    GLTextures given;  // the application's textures, while they are checked

    const Schedule& schedule() const { return *build.schedule_; }
    const Texture& texture(std::int32_t index) const { return schedule().textures[at(index)]; }
    std::string_view bytes(const Range& range) const {
        return build.source_->weights.substr(static_cast<std::size_t>(range.offset),
                                             static_cast<std::size_t>(range.size));
    }

    Error make();
    void make_constants();
    void make_buffers();
    Error make_sized(const Schedule& of, Sized& to) const;
    void make_textures_of(const Schedule& of, Sized& to) const;
    Error attach_pass(const Schedule& of, const Sized& to, std::size_t index) const;
    void remove();

    using Ports = List<Port> Schedule::*;
    Error find(Ports list, std::string_view name, std::size_t& index) const;
    Error bind(const Port& port, const unsigned* names, std::size_t count);
    Error check_given(const Port& port, const unsigned* names, std::size_t count);
    Error rebind(const Port& port);
    Error record();
    void run_timed();
    void enter() const {
        if (options.restore_state) gl.ActiveTexture(gl::TEXTURE0);
    }
    void leave() const {
        if (options.restore_state) play(gl, after);
    }
};

Error not_ready();

}  // namespace shadergen

#endif
