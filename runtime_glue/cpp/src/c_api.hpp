// What the functions of shadergen.h have in common: handles, errors, descriptors, the logger.
//
// These sources are compiled with exceptions, unlike the rest of the library, for guarded().

#ifndef SHADERGEN_C_API_HPP
#define SHADERGEN_C_API_HPP

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "shadergen/shadergen.h"
#include "shadergen/shadergen.hpp"
#include "text.hpp"

struct shadergen_error {
    shadergen::Error error;
    std::string text;
};

namespace shadergen::c {

// Call what may allocate: if memory runs out, the process ends, and nothing is thrown through the
// frames of a caller that knows no exceptions.
template <class Call>
auto guarded(Call call) noexcept {
    return call();
}

// Strings that end with a zero, in place of a build's views.
struct BuildHandle {
    explicit BuildHandle(Build of);

    Build build;
    std::string model, variant;
    std::vector<std::string> passes;
    std::vector<PortInfo> inputs, outputs;
    std::vector<Size> names;  // what `sizes` points into
    std::vector<shadergen_size> sizes;
};

struct Logger {
    shadergen_log function = nullptr;
    void* user = nullptr;

    explicit operator bool() const { return function != nullptr; }
    void operator()(shadergen_log_level level, const std::string& text) const {
        if (function) function(user, level, text.c_str());
    }
};

// Answer a call: log and hand out an error, if there is one.
int answer(Error&& error, shadergen_error** out, const Logger& logger = {});
inline int answer(shadergen_error** out) {
    if (out) *out = nullptr;
    return 0;
}

// SG0605 for a parameter that is NULL.
Error null_argument(const char* name);

// Sizes as the C++ interface takes them; SG0605 for a NULL.
bool take_sizes(const shadergen_size* sizes, std::size_t count, std::vector<Size>& taken,
                Error& error);

// Read a descriptor whose caller may know fewer or more members. SG0605 without a size, or if it
// sets members that this library does not have.
bool take_bytes(const void* given, const char* type, void* known, std::size_t size, Error& error);
template <class Desc>
bool take(const Desc* given, const char* type, Desc& known, Error& error) {
    return take_bytes(given, type, &known, sizeof known, error);
}

// Fill a struct of the caller's size with what its struct_size covers.
bool give_bytes(void* to, const char* type, void* known, std::size_t size, Error& error);
template <class Info>
bool give(Info* to, const char* type, Info& known, Error& error) {
    return give_bytes(to, type, &known, sizeof known, error);
}

// The loader of GL functions of a descriptor.
struct Loader {
    shadergen_get_proc_address plain = nullptr;
    shadergen_get_proc_address_user with_user = nullptr;
    void* user = nullptr;

    bool check(Error& error) const;
    GetProcAddress function() const;  // for the C++ interface; finds within a Scope
};

// Loader::function() finds functions through this loader while the scope lasts, on this thread.
class Scope {
public:
    explicit Scope(const Loader& loader);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

private:
    const Loader* before_;
};

}  // namespace shadergen::c

struct shadergen_build : shadergen::c::BuildHandle {
    using BuildHandle::BuildHandle;
};

#endif
