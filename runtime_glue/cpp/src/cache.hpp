// Linked programs kept in a folder. Whatever is not as it should be there is as if it were not
// there.

#ifndef SHADERGEN_CACHE_HPP
#define SHADERGEN_CACHE_HPP

#include <string>
#include <string_view>

#include "device.hpp"
#include "gl.hpp"

namespace shadergen {

// The name under which a program of these sources is kept for this driver.
std::string cache_key(const Device& device, std::string_view vertex, std::string_view shader);

// Load a program; false where it has to be compiled.
bool load_program(const GL& gl, const std::string& folder, const std::string& key, Name program);

// Keep a linked program, if the driver gives it away.
void keep_program(const GL& gl, const std::string& folder, const std::string& key, Name program);

}  // namespace shadergen

#endif
