// external [--desktop] [--restore] CASE...: play builds whose input x is an external texture. A
// CASE has build/, frame.txt (width and height), frame.rgba (its bytes), matrices.f32 (16 numbers
// each), perhaps sizes.txt; the output y of matrix k is written to CASE/y.k.f32. For each case a
// line: "ok CASE", or "failed CASE: why". What is promised of GL state and of calls is tried on
// each.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "trace.hpp"

namespace {

namespace fs = std::filesystem;
using namespace shadergen;

void hold(bool fact, const std::string& what) {
    if (!fact) throw std::runtime_error(what);
}
void good(const Error& error) { hold(!error, error.render()); }

std::vector<char> bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class Type>
Type proc(const char* name) {
    return reinterpret_cast<Type>(tests::get_proc_address(name));
}

// An external texture, which EGL makes of a 2D one: filtered linearly.
Name external_texture(const GL& gl, int width, int height, const void* pixels) {
    constexpr Enum linear = 0x2601, gl_texture_2d = 0x30B1, rgba8 = 0x8058;
    Name names[2] = {};
    gl.GenTextures(2, names);
    gl.BindTexture(gl::TEXTURE_2D, names[0]);
    gl.TexStorage2D(gl::TEXTURE_2D, 1, rgba8, width, height);
    gl.TexSubImage2D(gl::TEXTURE_2D, 0, 0, 0, width, height, gl::RGBA, gl::UNSIGNED_BYTE, pixels);
    gl.BindTexture(gl::TEXTURE_2D, 0);
    void* const display = tests::egl<void* (*)()>("eglGetCurrentDisplay")();
    void* const context = tests::egl<void* (*)()>("eglGetCurrentContext")();
    const auto create =
        proc<void* (*)(void*, void*, Enum, void*, const std::int32_t*)>("eglCreateImageKHR");
    void* const image = create(display, context, gl_texture_2d,
                               reinterpret_cast<void*>(std::uintptr_t{names[0]}), nullptr);
    hold(image, "EGL makes no image");
    gl.BindTexture(gl::TEXTURE_EXTERNAL_OES, names[1]);
    proc<void (*)(Enum, void*)>("glEGLImageTargetTexture2DOES")(gl::TEXTURE_EXTERNAL_OES, image);
    for (const Enum what : {gl::TEXTURE_MIN_FILTER, gl::TEXTURE_MAG_FILTER})
        gl.TexParameteri(gl::TEXTURE_EXTERNAL_OES, what, static_cast<Int>(linear));
    gl.BindTexture(gl::TEXTURE_EXTERNAL_OES, 0);
    return names[1];
}

void mistakes(Runner& runner, const GL& gl, Name texture, const float* matrix) {
    const float value = 0;
    hold(runner.upload("x", &value, 1).what ==
             "the input 'x' is an external texture, which takes no arrays",
         "upload");
    hold(runner.bind_input("x", texture).what == "'x' takes an external texture and its matrix",
         "no matrix");
    float wrong[16] = {};
    wrong[7] = 1 / value;
    hold(runner.bind_input("x", texture, wrong).what == "the matrix of 'x' has the number inf",
         "not finite");
    Name plain = 0;
    gl.GenTextures(1, &plain);
    gl.BindTexture(gl::TEXTURE_2D, plain);
    gl.BindTexture(gl::TEXTURE_2D, 0);
    hold(runner.bind_input("x", plain, matrix).code == "SG0604", "a 2D texture");
    hold(runner.bind_input("x", 0, matrix).code == "SG0605", "texture 0");
    hold(runner.bind_input("y", texture, matrix).code == "SG0605", "no such input");
}

// Which textures the application has bound, and the sampler of the first unit.
std::vector<Int> bound(const GL& gl) {
    std::vector<Int> found;
    for (const Enum what : {gl::TEXTURE_BINDING_EXTERNAL_OES, gl::TEXTURE_BINDING_2D,
                            gl::SAMPLER_BINDING, gl::CURRENT_PROGRAM})
        found.push_back(gl.integer(what));
    return found;
}

void play(const fs::path& folder, const GL& gl, bool restore) {
    Options options;
    options.get_proc_address = tests::traced_proc_address;
    options.restore_state = restore;
    auto loaded = load((folder / "build").string());
    good(loaded.error);
    hold(loaded.value.inputs()[0].is_external, "the port does not say what it is");
    std::ifstream file(folder / "frame.txt");
    int width = 0, height = 0;
    file >> width >> height;
    const auto pixels = bytes_of(folder / "frame.rgba"),
               numbers = bytes_of(folder / "matrices.f32");
    std::vector<float> matrices(numbers.size() / sizeof(float));
    std::memcpy(matrices.data(), numbers.data(), numbers.size());
    const Name texture = external_texture(gl, width, height, pixels.data());
    const Name other = external_texture(gl, width, height, pixels.data());

    if (restore) gl.BindTexture(gl::TEXTURE_EXTERNAL_OES, other);
    const auto before = bound(gl);
    Runner runner(loaded.value, options);
    good(runner.init());
    std::vector<Size> sizes;
    std::ifstream sizes_file(folder / "sizes.txt");
    for (Size size; sizes_file >> size.name >> size.value;) sizes.push_back(size);
    good(runner.resize(sizes));
    hold(runner.run().what == "the input 'x' has no texture", "an input has no texture");
    mistakes(runner, gl, texture, matrices.data());
    const auto output = runner.build().outputs()[0];
    std::size_t count = 1;
    for (const auto size : output.shape) count *= static_cast<std::size_t>(size);
    std::vector<float> values(count);
    for (std::size_t k = 0; k * 16 < matrices.size(); ++k) {
        tests::called().clear();
        tests::tracing = k > 0;
        good(runner.bind_input("x", texture, matrices.data() + 16 * k));
        hold(tests::called().empty(), "another matrix makes GL calls");
        good(runner.run());
        tests::tracing = false;
        for (const auto& [name, times] : tests::called())
            hold(name.substr(0, 5) != "glGet" && name.substr(0, 5) != "glGen",
                 name + " in a frame");
        hold(bound(gl) == before, "a frame changes what is bound");
        good(runner.read(output.name, values.data(), count));
        good(runner.check());
        std::ofstream(folder / ("y." + std::to_string(k) + ".f32"), std::ios::binary)
            .write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(count * sizeof(float)));
    }
}

}  // namespace

int main(int count, char** arguments) {
    int first = 1;
    bool desktop = false, restore = false;
    for (; first < count && arguments[first][0] == '-'; ++first) {
        desktop = desktop || std::string(arguments[first]) == "--desktop";
        restore = restore || std::string(arguments[first]) == "--restore";
    }
    const tests::Context context(desktop);
    GL gl;
    Error error;
    gl.load(tests::get_proc_address, error);
    for (int i = first; i < count; ++i) {
        try {
            play(arguments[i], gl, restore);
            std::cout << "ok " << arguments[i] << std::endl;
        } catch (const std::runtime_error& error) {
            std::cout << "failed " << arguments[i] << ": " << error.what() << std::endl;
        }
    }
}
