// play [--desktop] [--cache FOLDER] CASE...: play builds one after another in one context. A CASE
// is a folder as support/runtime_builds.py lays it out; outputs are written to CASE/cpp/NAME.f32, and
// for each a line of JSON: {"case": ..., "timings": [...]} or {"case": ..., "error": ...}.

#include <filesystem>
#include <fstream>
#include <iostream>

#include "context.hpp"
#include "json.hpp"
#include "shadergen/shadergen.hpp"

namespace {

namespace fs = std::filesystem;

std::size_t elements(const shadergen::PortInfo& port) {
    std::size_t count = 1;
    for (const auto size : port.shape) count *= static_cast<std::size_t>(size);
    return count;
}

// The sizes that a case is to be played at; none where the build's are fixed.
std::vector<shadergen::Size> sizes(const fs::path& path) {
    std::ifstream file(path);
    std::vector<shadergen::Size> found;
    for (shadergen::Size size; file >> size.name >> size.value;) found.push_back(size);
    return found;
}

shadergen::Error play(const fs::path& folder, const shadergen::Options& options,
                      std::vector<double>& timings) {
    auto loaded = shadergen::load((folder / "build").string());
    if (!loaded) return loaded.error;
    shadergen::Runner runner(loaded.value, options);
    if (auto error = runner.init()) return error;
    if (auto error = runner.resize(sizes(folder / "sizes.txt"))) return error;
    for (const auto& input : runner.build().inputs()) {
        std::vector<float> values(elements(input));
        std::ifstream file(folder / "inputs" / (input.name + ".f32"), std::ios::binary);
        file.read(reinterpret_cast<char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
        if (auto error = runner.upload(input.name, values.data(), values.size())) return error;
    }
    if (auto error = runner.run(true)) return error;
    timings = runner.timings();
    fs::create_directories(folder / "cpp");
    for (const auto& output : runner.build().outputs()) {
        std::vector<float> values(elements(output));
        if (auto error = runner.read(output.name, values.data(), values.size())) return error;
        std::ofstream file(folder / "cpp" / (output.name + ".f32"), std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    return runner.check();
}

}  // namespace

int main(int count, char** arguments) {
    shadergen::Options options;
    options.get_proc_address = tests::get_proc_address;
    int first = 1;
    bool desktop = false;
    for (; first < count && arguments[first][0] == '-'; ++first) {
        const std::string option = arguments[first];
        if (option == "--desktop") desktop = true;
        if (option == "--cache") options.program_cache = arguments[++first];
    }
    tests::Context context(desktop);
    for (int i = first; i < count; ++i) {
        std::vector<double> timings;
        const auto error = play(arguments[i], options, timings);
        std::cout << "{\"case\": " << tests::text(arguments[i]);
        if (error) std::cout << ", \"error\": " << tests::text(error.render());
        else
            std::cout << ", \"timings\": "
                      << tests::list(timings, [](double ms) { return std::to_string(ms); });
        std::cout << "}" << std::endl;
    }
}
