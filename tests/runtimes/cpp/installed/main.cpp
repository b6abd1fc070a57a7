// An application of the installed library.
#include <shadergen/shadergen.hpp>

#include <cstdio>

int main(int, char** arguments) {
    const auto loaded = shadergen::load(arguments[1]);
    if (loaded) std::printf("%zu passes\n", loaded.value.passes());
    return loaded ? 0 : 1;
}
