// Pick the variant of a build for the current GL context.

#ifndef SHADERGEN_VARIANTS_HPP
#define SHADERGEN_VARIANTS_HPP

#include <string>
#include <string_view>

namespace shadergen {

// The words of a renderer's name, with spaces between and around them, and whether a pattern
// matches some of them: python/renderers.py says which.
std::string words_of(std::string_view renderer);
bool matches(std::string_view pattern, std::string_view words);

}  // namespace shadergen

#endif
