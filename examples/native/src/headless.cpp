#include "headless.hpp"

#include <EGL/eglext.h>

namespace samples {

// Mesa's displays without a window system, then each device (of other drivers), then the default display.
std::string Headless::open() {
    const char* const known = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    const std::string extensions = known ? known : "";
    const auto display_of = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
        eglGetProcAddress("eglGetPlatformDisplayEXT"));
    std::string why;
    if (extensions.find("EGL_MESA_platform_surfaceless") != std::string::npos) {
        why = open_on(display_of(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr));
        if (why.empty()) return {};
    }
    if (extensions.find("EGL_EXT_platform_device") != std::string::npos) {
        const auto query =
            reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
        constexpr EGLint most = 16;
        EGLDeviceEXT devices[most] = {};
        EGLint count = 0;
        query(most, devices, &count);
        for (EGLint i = 0; i < count; ++i) {
            why = open_on(display_of(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr));
            if (why.empty()) return {};
        }
    }
    return open_on(eglGetDisplay(EGL_DEFAULT_DISPLAY));
}

std::string Headless::open_on(EGLDisplay display) {
    if (!eglInitialize(display, nullptr, nullptr)) return "EGL has no display";
    if (!eglBindAPI(EGL_OPENGL_ES_API)) return "EGL has no OpenGL ES";
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    eglChooseConfig(display, wanted, &config, 1, &count);
    EGLContext context = EGL_NO_CONTEXT;
    for (const EGLint minor : {2, 1, 0}) {  // the highest: builds of --glsl 310 want 3.1
        const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, minor, EGL_NONE};
        if (count && context == EGL_NO_CONTEXT)
            context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    }
    if (context == EGL_NO_CONTEXT) return "EGL has no OpenGL ES 3";
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        eglDestroyContext(display, context);
        return "EGL makes no context current without a surface";
    }
    display_ = display, context_ = context;
    return {};
}

Headless::~Headless() {
    if (context_ == EGL_NO_CONTEXT) return;
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display_, context_);
}

}  // namespace samples
