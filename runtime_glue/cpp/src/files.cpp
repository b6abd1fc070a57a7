#include "files.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "text.hpp"

namespace shadergen {

namespace {

namespace fs = std::filesystem;

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

bool read_all(const fs::path& path, std::size_t size, List<char>& content) {
    const Handle file = open(path, "rb");
    if (!file) return false;
    content.resize(size);
    return std::fread(content.begin(), 1, size, file.get()) == size;
}

bool missing(Error& error, const char* what, std::string_view path) {
    error.help = "copy the whole build folder again, or compile the model again";
    return fail(error, "SG0505", what, {path});
}

// A file that an application does not have in memory.
bool absent(Error& error, std::string_view path) {
    if (path != schedule_file) return missing(error, "the build's file '{}' is missing", path);
    tell(error.why, "{} is not among them", {schedule_file});
    return fail(error, "SG0502", "there is no build in these files", {});
}

bool outside(Error& error, std::string_view path) {
    return malformed(error, "the path '{}' leads outside the build's folder", {path});
}

bool leads_up(std::string_view path) {
    return (say("/{}/", {path})).find("/../") != std::string::npos;
}

}  // namespace

bool read_file(const std::string& path, std::size_t most, List<char>& content) {
    const fs::path place = fs::u8path(path);
    std::error_code error;
    const auto size = fs::file_size(place, error);
    return !error && size <= most && read_all(place, static_cast<std::size_t>(size), content);
}

bool write_file(const std::string& path, std::string_view content) {
    const fs::path place = fs::u8path(path), beside = fs::u8path(say("{}.new", {path}));
    bool written = false;
    if (const Handle file = open(beside, "wb"))
        written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() &&
                  std::fflush(file.get()) == 0;
    std::error_code error;
    if (written) fs::rename(beside, place, error);
    if (!written || error) fs::remove(beside, error), written = false;
    return written;
}

bool FolderFiles::read(std::string_view path, std::size_t most, List<char>& owned,
                       std::string_view& content, std::size_t& found, Error& error) const {
    const bool is_schedule = path == schedule_file;
    fs::path root = fs::u8path(folder_), place = root / fs::u8path(path);
    std::error_code problem;
    if (!is_schedule) {
        if (leads_up(path)) return outside(error, path);
        root = fs::canonical(root, problem);
        if (!problem) place = fs::canonical(place, problem);
        if (problem) return missing(error, "the build's file '{}' is missing", path);
        root /= "";  // so that it ends with a separator
        if (place.native().compare(0, root.native().size(), root.native()) != 0)
            return outside(error, path);
    }
    const bool regular = fs::is_regular_file(place, problem);
    if (regular) found = static_cast<std::size_t>(fs::file_size(place, problem));
    if (regular && !problem) {
        if (found > most) return true;
        if (read_all(place, found, owned)) {
            content = {owned.begin(), found};
            return true;
        }
    } else if (!is_schedule && !problem) {
        return missing(error, "'{}' is not a file", path);
    }
    if (!is_schedule) return missing(error, "the build's file '{}' cannot be read", path);
    tell(error.why, "{} cannot be read", {schedule_file});
    error.help = "give the folder that 'shadergen compile -o' wrote";
    return fail(error, "SG0502", "there is no build in '{}'", {folder_});
}

bool MemoryFiles::read(std::string_view path, std::size_t most, List<char>& /*owned*/,
                       std::string_view& content, std::size_t& found, Error& error) const {
    if (leads_up(path)) return outside(error, path);
    for (std::size_t i = 0; i < count_; ++i) {
        if (files_[i].path != path) continue;
        found = files_[i].size;
        if (found <= most && found)
            content = std::string_view(static_cast<const char*>(files_[i].data), found);
        return true;
    }
    return absent(error, path);
}

bool CallbackFiles::read(std::string_view path, std::size_t most, List<char>& owned,
                         std::string_view& content, std::size_t& found, Error& error) const {
    if (leads_up(path)) return outside(error, path);
    const std::string name(path);  // with a zero after it, and with none in it
    const void* data = nullptr;
    std::size_t size = 0;
    if (path.find('\0') != std::string_view::npos || !give_(user_, name.c_str(), &data, &size))
        return absent(error, path);
    if (size && !data) return missing(error, "the callback gave no data for '{}'", path);
    found = size;
    if (found > most || !found) return true;
    owned.resize(found);
    std::memcpy(owned.begin(), data, found);
    content = {owned.begin(), found};
    return true;
}

}  // namespace shadergen
