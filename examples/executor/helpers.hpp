// What a renderer has already (errors, files, programs, a context), and tensors as arrays.

#ifndef EXECUTOR_HELPERS_HPP
#define EXECUTOR_HELPERS_HPP

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

inline void require(bool good, const std::string& message) {
    if (good) return;
    std::fprintf(stderr, "executor: %s\n", message.c_str());
    std::exit(1);
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    require(file.good(), "cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::vector<float>& numbers) {
    std::ofstream file(path, std::ios::binary);
    const auto bytes = std::streamsize(numbers.size() * sizeof(float));
    file.write(reinterpret_cast<const char*>(numbers.data()), bytes);
    require(file.good(), "cannot write " + path);
}

// How a tensor lies in texels of four components: docs/schedule.md has the formulas.
struct Shape {
    bool rows;
    int width, height, layers, channels, batch;
    size_t texels() const { return size_t(width) * height * layers; }
    size_t area() const { return rows ? 1 : size_t(width) * height; }
    size_t elements() const { return area() * channels * batch; }
    size_t place(size_t i) const {  // of element i, in N, C, H, W order
        const size_t c = i / area() % channels, n = i / area() / channels;
        return ((n * ((channels + 3) / 4) + c / 4) * area() + i % area()) * 4 + c % 4;
    }
};

inline std::vector<float> texels_of(const std::string& bytes, const Shape& shape) {
    std::vector<float> elements(shape.elements()), texels(shape.texels() * 4);
    require(bytes.size() == elements.size() * sizeof(float),
            "the input takes " + std::to_string(elements.size()) + " floats");
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < elements.size(); ++i) texels[shape.place(i)] = elements[i];
    return texels;
}

inline std::vector<float> elements_of(const std::vector<float>& texels, const Shape& shape) {
    std::vector<float> elements(shape.elements());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = texels[shape.place(i)];
    return elements;
}

// A program of shader files, by stage.
inline GLuint link_program(const std::map<GLenum, std::string>& stages) {
    const GLuint program = glCreateProgram();
    char log[4096] = "";
    GLint good = 0;
    for (const auto& [stage, path] : stages) {
        const std::string text = read_file(path);
        const char* source = text.c_str();
        const GLuint shader = glCreateShader(stage);
        glShaderSource(shader, 1, &source, nullptr);
        glCompileShader(shader);
        glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
        glGetShaderInfoLog(shader, sizeof log, nullptr, log);
        require(good, path + ": " + log);
        glAttachShader(program, shader);
        glDeleteShader(shader);
    }
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    glGetProgramInfoLog(program, sizeof log, nullptr, log);
    require(good, stages.begin()->second + ": " + log);
    return program;
}

// Mesa's display without a window system.
inline bool make_context() {
    const auto display_of = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
        eglGetProcAddress("eglGetPlatformDisplayEXT"));
    if (!display_of) return false;
    const EGLDisplay display =
        display_of(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (!eglInitialize(display, nullptr, nullptr)) return false;
    eglBindAPI(EGL_OPENGL_ES_API);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0,
                             EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};  // the newest 3.x
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (!eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) return false;
    const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    return context && eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
}

#endif
