#include "gl.hpp"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace shadergen {

namespace {

#define SHADERGEN_NAME(result, name, arguments) #name "\0"
// The names of all functions after "gl", in the order of the members of GL.
constexpr char function_names[] = SHADERGEN_GL_ALWAYS(SHADERGEN_NAME)
    SHADERGEN_GL_31(SHADERGEN_NAME) SHADERGEN_GL_SOMETIMES(SHADERGEN_NAME);
#undef SHADERGEN_NAME

#define SHADERGEN_COUNT(result, name, arguments) +1
constexpr std::size_t always = 0 SHADERGEN_GL_ALWAYS(SHADERGEN_COUNT);
constexpr std::size_t all =
    always SHADERGEN_GL_31(SHADERGEN_COUNT) SHADERGEN_GL_SOMETIMES(SHADERGEN_COUNT);
#undef SHADERGEN_COUNT

}  // namespace

bool GL::load(GetProcAddress find, Error& error) {
    static_assert(std::is_standard_layout_v<GL> && offsetof(GL, desktop) == all * sizeof(Function),
                  "functions follow one another without gaps");
    if (!find) {
        error.help = "set get_proc_address, for example to eglGetProcAddress or glfwGetProcAddress";
        return fail(error, "SG0601", "the options have no get_proc_address", {});
    }
    const char* rest = function_names;
    for (std::size_t i = 0; i < all; ++i, rest += std::strlen(rest) + 1) {
        const std::string name = say("gl{}", {rest});
        const Function function = find(name.c_str());
        std::memcpy(reinterpret_cast<char*>(this) + i * sizeof function, &function,
                    sizeof function);
        if (function || i >= always) continue;
        error.help = "give the get_proc_address of a current OpenGL ES 3 or OpenGL 4.3 context";
        return fail(error, "SG0601", "the GL has no function {}", {name});
    }
    return true;
}

void GL::use_extensions() {
    desktop = false;
    BeginQuery = BeginQueryEXT, EndQuery = EndQueryEXT;
    GenQueries = GenQueriesEXT, DeleteQueries = DeleteQueriesEXT;
    GetQueryObjectui64v = GetQueryObjectui64vEXT;
    GetGraphicsResetStatus = GetGraphicsResetStatusKHR;
}

Int GL::integer(Enum what) const {
    Int value = 0;
    GetIntegerv(what, &value);
    return value;
}

namespace {
constexpr int max_errors = 32;  // a lost context may answer with an error for ever
}

void forget_errors(const GL& gl) {
    for (int i = 0; i < max_errors && gl.GetError(); ++i) {
    }
}

bool check_errors(const GL& gl, Error& error, const char* doing, Words words) {
    static constexpr char names[][33] = {"GL_INVALID_ENUM",
                                         "GL_INVALID_VALUE",
                                         "GL_INVALID_OPERATION",
                                         "GL_STACK_OVERFLOW",
                                         "GL_STACK_UNDERFLOW",
                                         "GL_OUT_OF_MEMORY",
                                         "GL_INVALID_FRAMEBUFFER_OPERATION",
                                         "GL_CONTEXT_LOST"};
    constexpr Enum first = 0x500;
    std::string reported;
    bool full = false;
    for (int i = 0; i < max_errors; ++i) {
        const Enum code = gl.GetError();
        if (!code) break;
        const bool known = code >= first && code < first + std::size(names);
        enlist_once(reported, known ? names[code - first] : say("{}", {hex(code)}));
        full = full || code == gl::OUT_OF_MEMORY;
    }
    if (reported.empty()) return true;
    if (full)
        error.help = "the GPU's memory is full: use a smaller input size, or --precision fp16";
    return fail(error, "SG0604", "GL reports {} while {}", {reported, say(doing, words)});
}

}  // namespace shadergen
