// An OpenGL ES 3 context without a window, by EGL.

#ifndef SAMPLES_HEADLESS_HPP
#define SAMPLES_HEADLESS_HPP

#define EGL_NO_X11
#include <EGL/egl.h>

#include <string>

namespace samples {

class Headless {
public:
    // Make a context and make it current; says why not, or nothing.
    std::string open();
    Headless() = default;
    Headless(const Headless&) = delete;
    Headless& operator=(const Headless&) = delete;
    ~Headless();

private:
    std::string open_on(EGLDisplay display);

    EGLDisplay display_ = EGL_NO_DISPLAY;
    EGLContext context_ = EGL_NO_CONTEXT;
};

}  // namespace samples

#endif
