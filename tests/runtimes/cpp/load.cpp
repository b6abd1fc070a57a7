// load: read builds from standard input, one a line: a folder, and after tabs NAME=SIZE, or
// renderer=NAME for a GL of that name. Write for each what load() says, as a line of JSON:
// {"code": ..., "what": ..., ...}, or what was loaded.

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "gl.hpp"
#include "json.hpp"
#include "shadergen/shadergen.hpp"

namespace {

// An OpenGL ES 3.0 that tells its name and its limits, all 100, and can do nothing else.
std::string renderer;

const unsigned char* get_string(unsigned name) {
    const char* text = name == shadergen::gl::VERSION ? "OpenGL ES 3.0" : renderer.c_str();
    return reinterpret_cast<const unsigned char*>(text);
}

const unsigned char* get_extension(unsigned, unsigned) {
    return reinterpret_cast<const unsigned char*>("GL_EXT_color_buffer_float");
}

void get_integer(unsigned name, int* value) {
    *value = name == shadergen::gl::NUM_EXTENSIONS ? 1 : 100;
}

void nothing() {}

shadergen::Function named_gl(const char* name) {
    const std::string function = name;
    if (function == "glGetString") return reinterpret_cast<shadergen::Function>(get_string);
    if (function == "glGetStringi") return reinterpret_cast<shadergen::Function>(get_extension);
    if (function == "glGetIntegerv") return reinterpret_cast<shadergen::Function>(get_integer);
    return nothing;
}

}  // namespace

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string folder, size;
        std::getline(words, folder, '\t');
        std::vector<shadergen::Size> sizes;
        shadergen::GetProcAddress find = nullptr;
        while (std::getline(words, size, '\t')) {
            const std::size_t equals = size.find('=');
            if (size.substr(0, equals) == "renderer") {
                renderer = size.substr(equals + 1);
                find = named_gl;
                continue;
            }
            sizes.push_back({size.substr(0, equals), std::atoll(size.c_str() + equals + 1)});
        }
        const auto loaded = shadergen::load(folder, sizes, find);
        if (loaded) {
            std::vector<std::string_view> names;
            for (std::size_t i = 0; i < loaded.value.passes(); ++i)
                names.push_back(loaded.value.pass(i));
            const auto number = [](std::int64_t value) { return std::to_string(value); };
            std::cout << "{\"variant\": " << tests::text(loaded.value.variant())
                      << ", \"passes\": " << tests::list(names, tests::text) << ", \"outputs\": "
                      << tests::list(loaded.value.outputs(),
                                     [&](const shadergen::PortInfo& port) {
                                         return tests::list(port.shape, number);
                                     })
                      << "}" << std::endl;
        } else {
            const shadergen::Error& error = loaded.error;
            std::cout << "{\"code\": " << tests::text(error.code)
                      << ", \"what\": " << tests::text(error.what)
                      << ", \"where\": " << tests::list(error.where, tests::text)
                      << ", \"why\": " << tests::text(error.why)
                      << ", \"help\": " << tests::text(error.help)
                      << ", \"rendered\": " << tests::text(error.render()) << "}" << std::endl;
        }
    }
}
