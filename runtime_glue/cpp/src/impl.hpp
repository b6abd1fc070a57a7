// What a Runner holds.

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
    List<GLTextures> textures;  // by tensor: the runner's, or what the application bound
    List<GLTextures> uploads;   // by input
    List<Name> framebuffers;    // by pass: 0 of those that dispatch
    List<char> foreign;         // by pass: whether its framebuffer is the application's
};

struct Runner::Impl {
    Build build;
    Options options;
    GL gl{};  // all null
    Device device;
    bool ready = false, recorded = false, timed = false;
    Objects fixed{gl};  // of no size
    Sized sized{gl};
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
    const Texture& texture(const Ref& name) const { return schedule().textures[at(name)]; }
    std::string_view bytes(const Range& range) const {
        return build.source_->weights.substr(static_cast<std::size_t>(range.offset),
                                             static_cast<std::size_t>(range.size));
    }

    bool make(Error& error);
    void make_constants();
    void make_buffers();
    bool make_sized(const Schedule& of, Sized& to, Error& error) const;
    void make_textures_of(const Schedule& of, Sized& to) const;
    bool attach_pass(const Schedule& of, const Sized& to, std::size_t index, Error& error) const;
    bool resize(const std::vector<Size>& wanted, Error& error);
    bool remake(const Schedule& next, Error& error);
    void remove();

    using Ports = List<Port> Schedule::*;
    // Null, and an error, when the build has no such port.
    const Port* find(Ports list, std::string_view name, Error& error) const;
    bool bind(const Port& port, const unsigned* names, std::size_t count, Error& error);
    bool check_given(const Port& port, const unsigned* names, std::size_t count, Error& error);
    bool rebind(const Port& port, Error& error);
    bool record(Error& error);
    bool check_apart(Error& error) const;
    GLTextures& bound(const Port& port) { return sized.textures[at(port.texture)]; }
    bool is_ready(Error& error) const;
    void run_timed();
    void enter() const {
        if (options.restore_state) gl.ActiveTexture(gl::TEXTURE0);
    }
    void leave() const {
        if (options.restore_state) replay(gl, after);
    }
};

}  // namespace shadergen

#endif
