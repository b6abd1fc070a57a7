// Where the viewer's frames come from: pictures in a folder, over and over, or raw ones from a pipe.

#ifndef SAMPLES_FRAMES_HPP
#define SAMPLES_FRAMES_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "picture.hpp"

namespace samples {

class Frames {
public:
    // The PNG and JPEG files of a folder in the order of their names, or one file; says why not, or nothing.
    std::string open(const std::string& path);
    // RGB, 8 bits each, from the standard input: what `ffmpeg -f rawvideo -pix_fmt rgb24 -` writes.
    void open_pipe(int width, int height);

    // Read the next frame. At the end of a pipe nothing is read, and it is `over`.
    std::string next(Picture& picture);
    bool over() const { return over_; }
    bool still() const { return paths_.size() == 1; }

private:
    std::vector<std::string> paths_;
    std::size_t at_ = 0;
    int width_ = 0, height_ = 0;
    std::vector<unsigned char> raw_;
    bool over_ = false;
};

}  // namespace samples

#endif
