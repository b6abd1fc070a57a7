// upscale IN OUT.png [--build FOLDER] [--cache FOLDER] [--frames N]: a picture through a network, without a
// window. Prints what starting up, memory and frames took.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "headless.hpp"
#include "network.hpp"
#include "picture.hpp"

namespace {

using namespace samples;

constexpr int most_frames = 1000000;

struct Arguments {
    std::string input, output, build, cache;
    int frames = 5;
};

int fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 2;
}

constexpr const char* usage = "usage: upscale IN OUT.png [--build FOLDER] [--cache FOLDER] [--frames N]";

// Says what is wrong, or nothing.
std::string parse(int count, char** words, Arguments& arguments) {
    std::vector<std::string> files;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word.rfind("--", 0) != 0) {
            files.push_back(word);
            continue;
        }
        if (word != "--build" && word != "--cache" && word != "--frames") return "there is no option " + word;
        if (i + 1 == count) return word + " takes a value";
        const std::string value = words[++i];
        if (word == "--build") arguments.build = value;
        if (word == "--cache") arguments.cache = value;
        if (word != "--frames") continue;
        char* end = nullptr;
        const long frames = std::strtol(value.c_str(), &end, 10);
        if (value.empty() || *end || frames < 1 || frames > most_frames)
            return "--frames takes a number from 1 to " + std::to_string(most_frames) + ", not " + value;
        arguments.frames = static_cast<int>(frames);
    }
    if (files.size() != 2) return "it takes two files, not " + std::to_string(files.size());
    arguments.input = files[0], arguments.output = files[1];
    const std::string suffix = std::filesystem::path(arguments.output).extension().string();
    if (suffix != ".png" && suffix != ".PNG") return arguments.output + ": pictures are written as .png alone";
    return {};
}

// Says why a folder cannot keep programs, or nothing; makes it where there is none.
std::string prepare(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return folder.string() + ": " + error.message();
    const std::filesystem::path probe = folder / "probe";
    if (!std::ofstream(probe)) return folder.string() + ": programs cannot be kept there, it takes no files";
    std::filesystem::remove(probe, error);
    return {};
}

class Clock {
public:
    // Milliseconds since the last call.
    double lap() {
        const auto before = last_;
        last_ = std::chrono::steady_clock::now();
        return std::chrono::duration<double, std::milli>(last_ - before).count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int upscale(const Arguments& arguments) {
    Picture picture;
    std::string why = read_picture(arguments.input, picture);
    if (!why.empty()) return fail(why);

    // As an application starts: a context, the build, its GL objects.
    Clock clock;
    Headless context;
    why = context.open();
    if (!why.empty()) return fail(why);
    const double opening = clock.lap();

    shadergen::Options options;
    options.get_proc_address = eglGetProcAddress;
    bool warm = false;
    if (!arguments.cache.empty()) {
        why = prepare(arguments.cache);
        if (!why.empty()) return fail(why);
        std::error_code error;
        warm = !std::filesystem::is_empty(arguments.cache, error);
        options.program_cache = arguments.cache;
    }
    if (!load_gl(options.get_proc_address)) return fail("the GL lacks functions of OpenGL ES 3.0");
    clock.lap();
    Network network;
    if (auto error = network.load(arguments.build, options)) return fail(error.render());
    if (auto error = network.resize(picture.width, picture.height)) return fail(error.render());
    const double loading = clock.lap();
    if (auto error = network.init()) return fail(error.render());
    const double making = network.milliseconds();

    const Canvas source(GL_TEXTURE_2D, GL_RGBA8, picture.width, picture.height);
    gl.BindTexture(GL_TEXTURE_2D, source.texture());
    gl.TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, picture.width, picture.height, GL_RGBA, GL_UNSIGNED_BYTE,
                     picture.pixels.data());
    picture.pixels = {};
    std::vector<double> frames;
    for (int i = 0; i < arguments.frames; ++i) {
        if (auto error = network.run(source.texture())) return fail(error.render());
        frames.push_back(network.milliseconds());
    }

    // What is left to do needs the result alone.
    const auto build = network.build();
    network.close();
    const Canvas& result = network.result();
    Picture made;
    made.width = result.width(), made.height = result.height();
    made.pixels.resize(static_cast<std::size_t>(made.width) * static_cast<std::size_t>(made.height) * 4);
    gl.BindFramebuffer(GL_FRAMEBUFFER, result.framebuffer());
    gl.ReadPixels(0, 0, made.width, made.height, GL_RGBA, GL_UNSIGNED_BYTE, made.pixels.data());
    const bool grey = network.channels() == 1 && picture.grey;
    why = write_png(arguments.output, std::move(made), grey ? 1 : std::max(network.channels(), 3));
    if (!why.empty()) return fail(why);

    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%s: %d x %d pixels, %s in %zu passes on %s\n", arguments.output.c_str(), result.width(), result.height(),
                std::string(build.model()).c_str(), build.passes(),
                reinterpret_cast<const char*>(gl.GetString(GL_RENDERER)));
    std::printf("start-up  %.1f ms: load %.1f, init %.1f (%s); EGL before that %.1f\n", loading + making,
                loading, making, warm ? "programs from the cache" : "programs compiled", opening);
    std::printf("memory    %.1f MB at the peak of the process; %.1f MB of textures\n",
                static_cast<double>(usage.ru_maxrss) * 1024 / 1e6,
                static_cast<double>(build.texture_bytes()) / 1e6);
    std::printf("frame     %.1f ms first", frames[0]);
    if (frames.size() > 1) {
        std::sort(frames.begin() + 1, frames.end());
        std::printf(", then %.1f ms (median of %zu)", frames[1 + (frames.size() - 1) / 2], frames.size() - 1);
    }
    std::printf("\n");
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::string(words[1]) == "--help") return std::puts(usage) < 0 ? 2 : 0;
    Arguments arguments;
    const std::string wrong = parse(count, words, arguments);
    return wrong.empty() ? upscale(arguments) : fail(wrong + "\n" + usage);
}
