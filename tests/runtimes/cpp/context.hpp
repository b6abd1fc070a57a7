// A GL context without a window, through EGL found at run time: no headers, nothing to link.

#ifndef SHADERGEN_TESTS_CONTEXT_HPP
#define SHADERGEN_TESTS_CONTEXT_HPP

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shadergen/shadergen.hpp"

namespace tests {

template <class Type>
Type egl(const char* name) {
    static void* const library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    void* const address = library ? dlsym(library, name) : nullptr;
    if (!address) {
        std::fprintf(stderr, "libEGL has no %s\n", name);
        std::exit(3);
    }
    Type function;
    std::memcpy(&function, &address, sizeof function);
    return function;
}

inline shadergen::Function get_proc_address(const char* name) {
    static const auto find = egl<shadergen::Function (*)(const char*)>("eglGetProcAddress");
    return find(name);
}

// Makes a context of the highest version and makes it current. Leaves the program where there is
// none.
class Context {
public:
    explicit Context(bool desktop = false) {
        constexpr std::uint32_t surfaceless = 0x31DD, es_api = 0x30A0, gl_api = 0x30A2;
        constexpr std::int32_t renderable = 0x3040, es3_bit = 0x40, gl_bit = 0x8, none = 0x3038,
                               surface_type = 0x3033, major_version = 0x3098,
                               minor_version = 0x30FB;
        const auto platform_display =
            reinterpret_cast<void* (*)(std::uint32_t, void*, const std::int32_t*)>(
                get_proc_address("eglGetPlatformDisplayEXT"));
        display_ = platform_display(surfaceless, nullptr, nullptr);
        const bool open =
            egl<unsigned (*)(void*, int*, int*)>("eglInitialize")(display_, nullptr, nullptr) &&
            egl<unsigned (*)(std::uint32_t)>("eglBindAPI")(desktop ? gl_api : es_api);
        const std::int32_t wanted[] = {renderable, desktop ? gl_bit : es3_bit, surface_type, 0,
                                       none};
        void* config = nullptr;
        int count = 0;
        egl<unsigned (*)(void*, const std::int32_t*, void**, int, int*)>("eglChooseConfig")(
            display_, wanted, &config, 1, &count);
        const int versions[2][2][2] = {{{3, 2}, {3, 1}}, {{4, 5}, {4, 3}}};
        for (const auto& version : versions[desktop]) {
            const std::int32_t attributes[] = {major_version, version[0], minor_version, version[1],
                                               none};
            if (!context_)
                context_ = egl<void* (*)(void*, void*, void*, const std::int32_t*)>(
                    "eglCreateContext")(display_, config, nullptr, attributes);
        }
        if (!open || !context_ || !make_current()) {
            std::fprintf(stderr, "EGL gives no context\n");
            std::exit(3);
        }
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
        bind(nullptr);
        egl<unsigned (*)(void*, void*)>("eglDestroyContext")(display_, context_);
    }

    bool make_current() { return bind(context_); }

private:
    bool bind(void* context) {
        return egl<unsigned (*)(void*, void*, void*, void*)>("eglMakeCurrent")(
                   display_, nullptr, nullptr, context) != 0;
    }

    void* display_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace tests

#endif
