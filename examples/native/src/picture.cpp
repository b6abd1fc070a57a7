#include "picture.hpp"

#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

namespace samples {

namespace {
constexpr std::size_t rgba = 4;
}

std::string read_picture(const std::string& path, Picture& picture) {
    int components = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load(path.c_str(), &picture.width, &picture.height, &components, rgba), stbi_image_free);
    if (!pixels) {
        const std::string why = stbi_failure_reason();
        return path + (why == "can't fopen" ? ": cannot be opened" : ": cannot be read as a picture: " + why);
    }
    picture.grey = components == 1;
    const auto size = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * rgba;
    picture.pixels.assign(pixels.get(), pixels.get() + size);
    return {};
}

std::string write_png(const std::string& path, Picture&& picture, int components) {
    std::vector<std::uint8_t>& pixels = picture.pixels;
    const auto wanted = static_cast<std::size_t>(components);
    std::size_t packed = 0;
    for (std::size_t at = 0; at < pixels.size(); at += rgba)
        for (std::size_t i = 0; i < wanted; ++i) pixels[packed++] = pixels[at + i];
    const int written = stbi_write_png(path.c_str(), picture.width, picture.height, components, pixels.data(),
                                       picture.width * components);
    return written ? "" : path + ": cannot be written";
}

}  // namespace samples
