// A build that makes a picture of a picture, as a function from texture to texture. Nothing leaves the GPU.

#ifndef SAMPLES_NETWORK_HPP
#define SAMPLES_NETWORK_HPP

#include <optional>
#include <shadergen/shadergen.hpp>
#include <string>

#include "gl.hpp"

namespace samples {

class Network {
public:
    // Load the build in a folder or, where none is named, the ESPCN that is part of the program.
    shadergen::Error load(const std::string& folder, const shadergen::Options& options);

    // Take pictures of this size, before init() or after it. SG0605 where the build has another of its own.
    shadergen::Error resize(int width, int height);

    // Make all GL objects in the context that is current.
    shadergen::Error init();

    // Run a frame. `picture` is a GL_TEXTURE_2D of the input's size.
    shadergen::Error run(GLuint picture);

    // Give back all GL objects but the result.
    void close();

    const Canvas& result() const { return result_; }       // of the last frame, RGBA8
    double milliseconds() const { return milliseconds_; }  // that the runner took for the last init() or run()
    shadergen::Build build() const { return runner_->build(); }
    int width() const { return input_.width; }
    int height() const { return input_.height; }
    int result_width() const { return output_.width; }
    int result_height() const { return output_.height; }
    int channels() const { return channels_; }  // of the result: 1, 3 or 4

private:
    shadergen::Error take_ports();
    shadergen::Error make_canvases();
    bool prepares() const { return luma_ || input_.is_array; }

    std::optional<shadergen::Runner> runner_;
    shadergen::PortInfo input_, output_;
    bool luma_ = false, ready_ = false;
    int channels_ = 0;
    GLuint bound_ = 0;
    Canvas prepared_, result_;
    Drawing prepare_, compose_;
    double milliseconds_ = 0;
};

}  // namespace samples

#endif
