#include "gl.hpp"

#include <cstring>

namespace shadergen {

namespace {

// Where a function goes, and whether every GL has it.
struct Slot {
    const char* name;
    void* function;
};

}  // namespace

Error GL::load(GetProcAddress find) {
    if (!find) return error_of("SG0601", {"the options have no get_proc_address"});
#define SHADERGEN_SLOT(result, name, arguments) {#name, &name},
    const Slot slots[] = {SHADERGEN_GL_ALWAYS(SHADERGEN_SLOT) SHADERGEN_GL_31(SHADERGEN_SLOT)
                              SHADERGEN_GL_SOMETIMES(SHADERGEN_SLOT)};
    const Slot always[] = {SHADERGEN_GL_ALWAYS(SHADERGEN_SLOT)};
#undef SHADERGEN_SLOT
    std::size_t i = 0;
    char full[64] = "gl";
    for (const Slot& slot : slots) {
        std::strcpy(full + 2, slot.name);  // the longest is one of ours
        const Function function = find(full);
        std::memcpy(slot.function, &function, sizeof function);
        if (!function && i++ < std::size(always)) {
            Error error = error_of("SG0601", {"the GL has no function gl", slot.name});
            error.help = "give the get_proc_address of a current context, of OpenGL ES 3 or 4.3";
            return error;
        }
    }
    return {};
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
    for (int i = 0; i < max_errors && gl.GetError(); ++i) {}
}

Error check_errors(const GL& gl, Pieces doing) {
    static const char* const names[] = {
        "GL_INVALID_ENUM", "GL_INVALID_VALUE", "GL_INVALID_OPERATION", "GL_STACK_OVERFLOW",
        "GL_STACK_UNDERFLOW", "GL_OUT_OF_MEMORY", "GL_INVALID_FRAMEBUFFER_OPERATION",
        "GL_CONTEXT_LOST"};
    constexpr Enum first = 0x500;
    std::string reported;
    bool full = false;
    for (int i = 0; i < max_errors; ++i) {
        const Enum code = gl.GetError();
        if (!code) break;
        const bool known = code >= first && code < first + std::size(names);
        const std::string name = known ? names[code - first] : say({hex(code)});
        if (reported.find(name) == std::string::npos)
            reported += (reported.empty() ? "" : ", ") + name;
        full = full || code == gl::OUT_OF_MEMORY;
    }
    if (reported.empty()) return {};
    Error error = error_of("SG0604", {"GL reports ", reported, " while ", say(doing)});
    if (full)
        error.help =
            "the GPU's memory is full: use a smaller input size, or --precision fp16";
    return error;
}

}  // namespace shadergen
