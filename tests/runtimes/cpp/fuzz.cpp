// A fuzzer of load(): whatever the schedule is, it is loaded or refused. SHADERGEN_FUZZ_BUILD is
// the folder of a build whose shaders and weights go with each schedule.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "shadergen/shadergen.hpp"

namespace {

struct Content {
    std::string path, bytes;
};

const std::vector<Content>& build() {
    static const std::vector<Content> contents = [] {
        namespace fs = std::filesystem;
        std::vector<Content> found;
        const char* root = std::getenv("SHADERGEN_FUZZ_BUILD");
        if (!root) std::abort();
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string path = entry.path().lexically_relative(root).generic_string();
            if (entry.is_regular_file() && path != "schedule.json")
                found.push_back({path, {std::istreambuf_iterator<char>(file), {}}});
        }
        return found;
    }();
    return contents;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<shadergen::File> files = {{"schedule.json", data, size}};
    for (const Content& content : build())
        files.push_back({content.path.c_str(), content.bytes.data(), content.bytes.size()});
    const auto loaded = shadergen::load(files.data(), files.size());
    if (!loaded) {
        const std::string& code = loaded.error.code;
        if (code != "SG0502" && code != "SG0503" && code != "SG0504" && code != "SG0505")
            std::abort();
        if (loaded.error.render().size() > 5000) std::abort();
        return 0;
    }
    if (loaded.value.passes() == 0 || loaded.value.outputs().empty()) std::abort();
    auto sizes = loaded.value.sizes();
    for (auto& size_ : sizes) size_.value = size_.value * 2 + 1;
    const auto resized = shadergen::load(files.data(), files.size(), sizes);
    if (!resized && resized.error.code != "SG0605") std::abort();
    return 0;
}
