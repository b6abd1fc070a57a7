// What the promises in this folder have in common: fixture builds, what they compute, and checks.

#ifndef SHADERGEN_TESTS_PROMISES_HPP
#define SHADERGEN_TESTS_PROMISES_HPP

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "trace.hpp"

namespace promises {

using namespace shadergen;
using tests::called;

inline std::string fixtures, scratch, failure;
inline bool desktop = false;  // OpenGL in place of OpenGL ES

// Allocations are counted, by main.cpp, while it is asked for.
inline bool counting = false;
inline int allocations = 0;

// A promise is a function that main.cpp calls in a context of its own, by its name.
struct Promise {
    const char* name;
    void (*keep)();
};

inline std::vector<Promise>& all() {
    static std::vector<Promise> promises;
    return promises;
}

struct Given {
    Given(const char* name, void (*keep)()) { all().push_back({name, keep}); }
};

#define PROMISE(name)                             \
    static void name();                           \
    static const Given given_##name(#name, name); \
    static void name()

void play_frames(int frames);  // for long, and besides the promises

#define CHECK(fact)                                                                    \
    do {                                                                               \
        if (!(fact) && failure.empty())                                                \
            failure = std::string(#fact) + " (line " + std::to_string(__LINE__) + ")"; \
    } while (false)

inline void good(const Error& error) {
    if (error && failure.empty()) failure = error.render();
}

inline Options traced() {
    Options options;
    options.get_proc_address = tests::traced_proc_address;
    return options;
}

inline Build load_fixture(const char* name) {
    auto loaded = load(fixtures + "/" + name);
    good(loaded.error);
    return loaded.value;
}

// Numbers that differ, in -1..1.
inline std::vector<float> numbers(std::size_t count, int seed = 0) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(static_cast<float>(i) * 0.7F + static_cast<float>(seed));
    return values;
}

inline std::size_t elements(const PortInfo& port) {
    std::size_t count = 1;
    for (const auto size : port.shape) count *= static_cast<std::size_t>(size);
    return count;
}

inline void feed_good(Runner& runner, int seed = 0) {
    const auto x = numbers(75, seed);
    std::vector<std::uint8_t> image(45);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 5);
    good(runner.upload("x", x.data(), x.size()));
    good(runner.upload("img", image.data(), image.size()));
}

inline float expected_good(float x, std::size_t channel) {
    const float bias[] = {0.25F, -0.5F, 0.75F, 1.0F, -1.25F},
                gain[] = {-1.0F, 2.0F, 0.5F, 1.5F, 3.0F};
    const float constant[] = {0.125F, 0.25F, 0.5F, -0.75F, -1.5F};
    return 0.5F * ((2 * x + bias[channel]) * gain[channel] + constant[channel]);
}

inline void check_good(Runner& runner, int seed = 0) {
    const auto x = numbers(75, seed);
    std::vector<float> out(75);
    good(runner.read("out", out.data(), out.size()));
    for (std::size_t i = 0; i < out.size(); ++i)
        CHECK(std::abs(out[i] - expected_good(x[i], i % 5)) < 1e-5F);
    std::vector<std::uint8_t> inverted(45);
    good(runner.read("inverted", inverted.data(), inverted.size()));
    for (std::size_t i = 0; i < inverted.size(); ++i) CHECK(inverted[i] == 255 - i * 5);
}

inline void play_dynamic(Runner& runner, std::size_t height, std::size_t width, int seed) {
    const auto x = numbers(height * width * 4, seed);
    good(runner.upload("x", x.data(), x.size()));
    good(runner.run());
    std::vector<float> up(x.size() * 4), y(x.size());
    good(runner.read("up", up.data(), up.size()));
    good(runner.read("y", y.data(), y.size()));
    good(runner.check());
    for (std::size_t i = 0; i < up.size() && failure.empty(); ++i) {
        const std::size_t c = i % 4, column = i / 4 % (2 * width), row = i / 4 / (2 * width);
        CHECK(std::abs(up[i] - 2 * x[(row / 2 * width + column / 2) * 4 + c]) < 1e-5F);
    }
    for (std::size_t i = 0; i < y.size() && failure.empty(); ++i) {
        const std::size_t pixel = height * width - 1 - i / 4;
        CHECK(std::abs(y[i] - (2 * x[pixel * 4 + i % 4] + x[i])) < 1e-5F);
    }
}

inline std::vector<Size> size_of(std::int64_t height, std::int64_t width) {
    return {{"height", height}, {"width", width}};
}

template <class Use>
inline void trace(Use use) {
    called().clear();
    tests::tracing = true;
    use();
    tests::tracing = false;
}

// --- GL of the application ---

inline GL plain_gl() {
    GL gl;
    Error error;
    gl.load(tests::get_proc_address, error);
    good(error);
    std::string version = reinterpret_cast<const char*>(gl.GetString(gl::VERSION));
    if (version.find("OpenGL ES") == 0) gl.use_extensions();
    return gl;
}

inline Name make_texture(const GL& gl, Enum target, Enum format, Int width, Int height,
                         Int layers = 0) {
    Name name = 0;
    gl.GenTextures(1, &name);
    gl.BindTexture(target, name);
    if (layers) gl.TexStorage3D(target, 1, format, width, height, layers);
    else gl.TexStorage2D(target, 1, format, width, height);
    gl.BindTexture(target, 0);
    return name;
}

}  // namespace promises

#endif
