// What an application calls, for measuring what that takes; without PLAY, nothing.
#include <shadergen/shadergen.hpp>

int main(int count, char** arguments) {
#ifdef PLAY
    const auto loaded = shadergen::load(arguments[count - 1]);
    shadergen::Runner runner(loaded.value, shadergen::Options());
    float numbers[1] = {};
    return loaded.error || runner.init() || runner.bind_input("x", 1) ||
           runner.bind_output("y", 1) || runner.upload("x", numbers, 1) || runner.run() ||
           runner.read("y", numbers, 1) || runner.resize({{"height", 1}}) || runner.check();
#else
    return count + (arguments == nullptr);
#endif
}
