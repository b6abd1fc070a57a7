// Pictures in memory and in files. Row 0 is the top row.

#ifndef SAMPLES_PICTURE_HPP
#define SAMPLES_PICTURE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace samples {

struct Picture {
    int width = 0, height = 0;
    bool grey = false;                 // its file had one component only
    std::vector<std::uint8_t> pixels;  // RGBA
};

// Read a PNG, JPEG, BMP, ...; says why not, or nothing.
std::string read_picture(const std::string& path, Picture& picture);

// Write a PNG of 1 (grey), 3 or 4 components. Uses up the picture: large ones are not copied.
std::string write_png(const std::string& path, Picture&& picture, int components);

}  // namespace samples

#endif
