// behaviour FIXTURES SCRATCH: what the runtime promises, tried on the fixture builds. Writes "ok
// NAME" or "failed NAME: why" for each promise. behaviour FIXTURES SCRATCH --frames N plays N
// frames with resizes.

#include <cstdlib>
#include <functional>
#include <iostream>
#include <new>

#include "promises.hpp"

void* operator new(std::size_t size) {
    if (promises::counting) ++promises::allocations;
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace promises;

int main(int count, char** arguments) {
    if (count < 3) return 2;
    fixtures = arguments[1], scratch = arguments[2];
    int frames = 0;
    for (int i = 3; i < count; ++i) {
        if (std::string(arguments[i]) == "--desktop") desktop = true;
        if (std::string(arguments[i]) == "--frames") frames = std::atoi(arguments[++i]);
    }
    const auto promise = [&](const char* name, const std::function<void()>& keep) {
        failure.clear();
        const tests::Context context(desktop);
        keep();
        std::cout << (failure.empty() ? "ok " : "failed ") << name << (failure.empty() ? "" : ": ")
                  << failure << std::endl;
    };
    if (frames) {
        promise("frames", [&] { play_frames(frames); });
        return !failure.empty();
    }
    for (const Promise& each : all()) promise(each.name, each.keep);
}
