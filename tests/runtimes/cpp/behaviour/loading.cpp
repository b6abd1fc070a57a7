// What is kept between starts, and builds in memory.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "promises.hpp"

namespace promises {

namespace fs = std::filesystem;

PROMISE(linked_programs_are_kept_and_damaged_ones_made_again) {
    const fs::path folder = fs::path(scratch) / "programs";
    fs::remove_all(folder);
    fs::create_directories(folder);
    Options options = traced();
    options.program_cache = folder.string();
    const auto compiled = [&] {
        trace([&] {
            Runner runner(load_fixture("good"), options);
            good(runner.init());
            feed_good(runner);
            good(runner.run());
            good(runner.check());
            check_good(runner);
        });
        return called()["glCompileShader"];
    };
    CHECK(compiled() == 7);
    if (plain_gl().integer(gl::NUM_PROGRAM_BINARY_FORMATS) == 0)
        return;  // the driver gives none away
    CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 6);
    CHECK(compiled() == 0);
    int n = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const auto size = fs::file_size(entry);
        if (n == 0) fs::resize_file(entry, size - 1);
        if (n == 1) fs::resize_file(entry, 10);
        if (n == 2) fs::resize_file(entry, 0);
        if (n == 3) {
            std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(size / 2));
            file.put('!');
        }
        ++n;
    }
    CHECK(compiled() > 0);
    CHECK(compiled() == 0);
    options.program_cache = (folder / "nowhere").string();
    CHECK(compiled() == 7);
}

// The files of a build in memory.
struct Kept {
    std::vector<std::string> paths, contents;
    std::vector<File> files;

    explicit Kept(const fs::path& root) {
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
            if (!entry.is_regular_file()) continue;
            std::ifstream file(entry.path(), std::ios::binary);
            paths.push_back(entry.path().lexically_relative(root).generic_string());
            contents.emplace_back(std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>());
        }
        for (std::size_t i = 0; i < paths.size(); ++i)
            files.push_back({paths[i].c_str(), contents[i].data(), contents[i].size()});
    }
};


PROMISE(a_build_in_memory_plays_and_is_not_copied) {
    const Kept kept(fixtures + "/good");
    const auto& [paths, contents, files] = kept;
    auto loaded = load(files.data(), files.size());
    good(loaded.error);
    Runner runner(loaded.value, traced());
    good(runner.init());
    feed_good(runner);
    good(runner.run());
    check_good(runner);
    CHECK(load(files.data(), 0).error.code == "SG0502");
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::vector<File> without = files;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        const bool schedule = paths[i] == "schedule.json";
        CHECK(load(without.data(), without.size()).error.code == (schedule ? "SG0502" : "SG0505"));
    }
}

PROMISE(the_variant_for_the_context_is_read_from_memory_and_plays) {
    const Kept kept(fixtures + "/good_variants");
    const std::string renderer =
        reinterpret_cast<const char*>(plain_gl().GetString(gl::RENDERER));
    const bool known = renderer.find("llvmpipe") == 0;
    for (const bool picks : {true, false}) {
        auto loaded = load(kept.files.data(), kept.files.size(), {},
                           picks ? tests::get_proc_address : nullptr);
        good(loaded.error);
        CHECK(loaded.value.variant() == (picks && known ? "software" : ""));
        Runner runner(loaded.value, traced());
        good(runner.init());
        const auto x = numbers(60);
        good(runner.upload("x", x.data(), x.size()));
        good(runner.run());
        std::vector<float> y(x.size());
        good(runner.read("y", y.data(), y.size()));
        const float factor = picks && known ? 0.25F : 4.0F;
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(y[i] - factor * x[i]) < 1e-5F);
    }
}

PROMISE(without_a_current_context_no_variant_is_picked) {
    const auto nowhere = [](const char*) -> Function { return nullptr; };
    CHECK(load(fixtures + "/good_variants", {}, nowhere).error.code == "SG0601");
    CHECK(!load(fixtures + "/good", {}, nowhere).error);
}

}  // namespace promises
