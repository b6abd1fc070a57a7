// GL objects of a runner: made at init, deleted together at close.

#ifndef SHADERGEN_OBJECTS_HPP
#define SHADERGEN_OBJECTS_HPP

#include <utility>

#include "gl.hpp"

namespace shadergen {

class Objects {
public:
    enum Kind : std::uint8_t {
        texture,
        buffer,
        framebuffer,
        sampler,
        vertex_array,
        query,
        program
    };

    explicit Objects(const GL& gl) : gl_(&gl) {}
    Objects(Objects&& other) noexcept = default;
    Objects& operator=(Objects&& other) noexcept = default;

    Name make(Kind kind);
    void remove();  // delete everything made
    void forget() { made_.clear(); }

private:
    const GL* gl_;
    List<std::pair<Kind, Name>> made_;
};

}  // namespace shadergen

#endif
