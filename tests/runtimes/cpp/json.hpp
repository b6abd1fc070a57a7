// Write lines of JSON, enough for the tests to read.

#ifndef SHADERGEN_TESTS_JSON_HPP
#define SHADERGEN_TESTS_JSON_HPP

#include <cstdio>
#include <string>
#include <string_view>

namespace tests {

inline std::string text(std::string_view value) {
    std::string quoted = "\"";
    for (const char c : value) {
        char escaped[8];
        const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        quoted += plain ? std::string(1, c) : escaped;
    }
    return quoted + '"';
}

// A list of anything, each made JSON by `write`.
template <class Items, class Write>
std::string list(const Items& items, Write write) {
    std::string joined = "[";
    for (const auto& item : items) joined += (joined.size() > 1 ? ", " : "") + write(item);
    return joined + "]";
}

}  // namespace tests

#endif
