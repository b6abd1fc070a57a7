#include "frames.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>

namespace samples {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t rgb = 3, rgba = 4;

bool is_picture(const fs::path& path) {
    std::string suffix = path.extension().string();
    std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
}

}  // namespace

std::string Frames::open(const std::string& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) paths_.push_back(path);
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
        if (is_picture(entry->path())) paths_.push_back(entry->path().string());
    std::sort(paths_.begin(), paths_.end());
    return paths_.empty() ? path + ": no PNG or JPEG there" : "";
}

void Frames::open_pipe(int width, int height) {
    width_ = width, height_ = height;
    raw_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * rgb);
}

std::string Frames::next(Picture& picture) {
    if (!paths_.empty()) return read_picture(paths_[at_++ % paths_.size()], picture);
    if (std::fread(raw_.data(), 1, raw_.size(), stdin) != raw_.size()) {
        over_ = true;
        return {};
    }
    picture.width = width_, picture.height = height_;
    picture.pixels.resize(raw_.size() / rgb * rgba);
    for (std::size_t i = 0; i < raw_.size() / rgb; ++i) {
        std::copy_n(&raw_[i * rgb], rgb, &picture.pixels[i * rgba]);
        picture.pixels[i * rgba + rgb] = 255;
    }
    return {};
}

}  // namespace samples
