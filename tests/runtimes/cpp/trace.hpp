// A loader that counts the GL calls that pass through it, by name.

#ifndef SHADERGEN_TESTS_TRACE_HPP
#define SHADERGEN_TESTS_TRACE_HPP

#include <map>
#include <string>

#include "context.hpp"
#include "gl.hpp"

namespace tests {

inline std::map<std::string, int>& called() {
    static std::map<std::string, int> counts;
    return counts;
}

// Off while nothing shall be counted, since counting allocates.
inline bool tracing = false;
inline int untraced_calls = 0;

template <auto Member>
struct Traced;

template <class Result, class... Arguments, Result (*shadergen::GL::*Member)(Arguments...)>
struct Traced<Member> {
    static inline Result (*real)(Arguments...) = nullptr;
    static inline const char* name = nullptr;

    static Result call(Arguments... arguments) {
        if (tracing) ++called()[name];
        else ++untraced_calls;
        return real(arguments...);
    }
    static shadergen::Function wrap(const char* wanted) {
        real = reinterpret_cast<decltype(real)>(get_proc_address(wanted));
        return real ? reinterpret_cast<shadergen::Function>(&call) : nullptr;
    }
};

inline shadergen::Function traced_proc_address(const char* wanted) {
#define TESTS_WRAP(result, function, arguments)                   \
    if (std::string("gl" #function) == wanted) {                  \
        Traced<& shadergen::GL::function>::name = "gl" #function; \
        return Traced<&shadergen::GL::function>::wrap(wanted);    \
    }
    SHADERGEN_GL_ALWAYS(TESTS_WRAP)
    SHADERGEN_GL_31(TESTS_WRAP)
    SHADERGEN_GL_SOMETIMES(TESTS_WRAP)
#undef TESTS_WRAP
    return nullptr;
}

}  // namespace tests

#endif
