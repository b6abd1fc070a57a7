// no_memory: memory runs out within a call of the C interface. The process has to end there: an
// exception must not reach the caller, who would catch it here.
#include <cstdio>
#include <cstdlib>
#include <new>

#include "shadergen/shadergen.h"

static bool exhausted = false;

void* operator new(std::size_t size) {
    void* const memory = exhausted ? nullptr : std::malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int, char** arguments) {
    shadergen_load_desc desc = {};
    shadergen_build* build = nullptr;
    desc.struct_size = sizeof desc;
    desc.folder = arguments[1];
    if (shadergen_load(&desc, &build, nullptr)) return 2;
    shadergen_build_destroy(build);
    std::puts("loaded");
    std::fflush(stdout);
    exhausted = true;
    try {
        shadergen_load(&desc, &build, nullptr);
    } catch (...) {
        std::puts("an exception left the library");
        return 3;
    }
    return 0;
}
