// What an application calls, for measuring what that takes; without PLAY, nothing.
#include <shadergen/shadergen.hpp>

int main(int count, char** arguments) {
#ifdef PLAY
    const auto loaded = shadergen::load(arguments[count - 1]);
    shadergen::Player player(loaded.value, shadergen::Options());
    float numbers[1] = {};
    return loaded.error || player.init() || player.bind_input("x", 1) ||
           player.bind_output("y", 1) || player.upload("x", numbers, 1) || player.run() ||
           player.read("y", numbers, 1) || player.resize({{"height", 1}}) || player.check();
#else
    return count + (arguments == nullptr);
#endif
}
