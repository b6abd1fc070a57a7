// What the current GL context offers, and whether that is enough for a build.

#ifndef SHADERGEN_DEVICE_HPP
#define SHADERGEN_DEVICE_HPP

#include <array>
#include <string>

#include "gl.hpp"
#include "schedule.hpp"

namespace shadergen {

struct Device {
    std::string vendor, renderer, version;
    int es = 0;  // the OpenGL ES whose shaders it takes: 30, 31, 32
    bool draws_float = false, draws_half_float = false;
    bool robust = false;  // tells when a context is lost
    bool timer = false, disjoint = false;
    bool external = false;  // reads external textures
    std::array<std::int64_t, limit_count> limits{};
};

// SG0601 when no context that will do is current.
bool query_device(GL& gl, Device& device, Error& error);
// SG0602, naming everything that is missing.
bool check_requirements(const Requires& required, const GL& gl, const Device& device, Error& error);

}  // namespace shadergen

#endif
