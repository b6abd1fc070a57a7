#include "files.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "text.hpp"

namespace shadergen {

namespace {

namespace fs = std::filesystem;

constexpr const char* copy_again = "copy the whole build folder again, or compile the model again";

struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using Handle = std::unique_ptr<std::FILE, Closer>;

Handle open(const fs::path& path, const char* mode) {
#ifdef _WIN32
    const wchar_t wide[] = {static_cast<wchar_t>(mode[0]), L'b', 0};
    return Handle(_wfopen(path.c_str(), wide));
#else
    return Handle(std::fopen(path.c_str(), mode));
#endif
}

bool read_all(const fs::path& path, std::size_t size, std::string& content) {
    const Handle file = open(path, "rb");
    if (!file) return false;
    content.resize(size);
    return std::fread(content.data(), 1, size, file.get()) == size;
}

Error missing(std::string_view path, const char* what) {
    Error error = error_of("SG0505", "the build's file '{}'{}", {path, what});
    error.help = copy_again;
    return error;
}

Error outside(std::string_view path) {
    return malformed("the path '{}' leads outside the build's folder", {path});
}

bool leads_up(std::string_view path) {
    return (say("/{}/", {path})).find("/../") != std::string::npos;
}

}  // namespace

bool read_file(const std::string& path, std::size_t most, std::string& content) {
    const fs::path place = fs::u8path(path);
    std::error_code error;
    const auto size = fs::file_size(place, error);
    return !error && size <= most && read_all(place, static_cast<std::size_t>(size), content);
}

bool write_file(const std::string& path, std::string_view content) {
    const fs::path place = fs::u8path(path), beside = fs::u8path(path + ".new");
    bool written = false;
    if (const Handle file = open(beside, "wb"))
        written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() &&
                  std::fflush(file.get()) == 0;
    std::error_code error;
    if (written) fs::rename(beside, place, error);
    if (!written || error) fs::remove(beside, error), written = false;
    return written;
}

Error FolderFiles::read(std::string_view path, std::size_t most, std::string& owned,
                        std::string_view& content, std::size_t& found) const {
    const bool is_schedule = path == schedule_file;
    const fs::path folder = fs::u8path(folder_);
    std::error_code problem;
    fs::path place = folder / fs::u8path(path);
    if (!is_schedule) {
        if (leads_up(path)) return outside(path);
        const fs::path root = fs::canonical(folder, problem);
        if (!problem) place = fs::canonical(root / fs::u8path(path), problem);
        if (problem) return missing(path, " is missing");
        auto part = place.begin();
        for (const fs::path& expected : root)
            if (part == place.end() || *part++ != expected) return outside(path);
    }
    const bool regular = fs::is_regular_file(place, problem);
    if (regular) found = static_cast<std::size_t>(fs::file_size(place, problem));
    if (!is_schedule && !problem && !regular) {
        Error error = error_of("SG0505", "'{}' is not a file", {path});
        error.help = copy_again;
        return error;
    }
    if (regular && !problem && found > most) return {};
    if (problem || !regular || !read_all(place, found, owned)) {
        if (!is_schedule) return missing(path, " cannot be read");
        Error error = error_of("SG0502", "there is no build in '{}'", {folder_});
        error.why = say("{} cannot be read", {schedule_file});
        error.help = "give the folder that 'shadergen compile -o' wrote";
        return error;
    }
    content = owned;
    return {};
}

Error MemoryFiles::read(std::string_view path, std::size_t most, std::string& /*owned*/,
                        std::string_view& content, std::size_t& found) const {
    if (leads_up(path)) return outside(path);
    for (std::size_t i = 0; i < count_; ++i) {
        if (files_[i].path != path) continue;
        found = files_[i].size;
        if (found <= most && found)
            content = std::string_view(static_cast<const char*>(files_[i].data), found);
        return {};
    }
    if (path != schedule_file) return missing(path, " is missing");
    Error error = error_of("SG0502", "there is no build in these files", {});
    error.why = say("{} is not among them", {schedule_file});
    return error;
}

}  // namespace shadergen
