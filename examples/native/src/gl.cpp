#include "gl.hpp"

#include <cstring>
#include <utility>

namespace samples {

GL gl;

bool load_gl(shadergen::GetProcAddress find) {
    bool found = true;
#define SAMPLES_FIND(type, name)                                           \
    gl.name = reinterpret_cast<PFNGL##type##PROC>(find("gl" #name)); \
    found = found && gl.name;
    SAMPLES_FUNCTIONS(SAMPLES_FIND)
#undef SAMPLES_FIND
    return found;
}

Canvas::Canvas(GLenum target, GLenum format, int width, int height) : width_(width), height_(height) {
    gl.GenTextures(1, &texture_);
    gl.BindTexture(target, texture_);
    if (target == GL_TEXTURE_2D) gl.TexStorage2D(target, 1, format, width, height);
    else gl.TexStorage3D(target, 1, format, width, height, 1);
    for (const GLenum side : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T})
        gl.TexParameteri(target, side, GL_CLAMP_TO_EDGE);
    gl.TexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    gl.TexParameteri(target, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    gl.BindTexture(target, 0);
    gl.GenFramebuffers(1, &framebuffer_);
    gl.BindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
    if (target == GL_TEXTURE_2D)
        gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, target, texture_, 0);
    else gl.FramebufferTextureLayer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, texture_, 0, 0);
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
}

Canvas& Canvas::operator=(Canvas&& other) noexcept {
    std::swap(texture_, other.texture_);
    std::swap(framebuffer_, other.framebuffer_);
    std::swap(width_, other.width_);
    std::swap(height_, other.height_);
    return *this;
}

Canvas::~Canvas() {
    if (!texture_) return;
    gl.DeleteFramebuffers(1, &framebuffer_);
    gl.DeleteTextures(1, &texture_);
}

bool Canvas::complete() const {
    gl.BindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
    const GLenum status = gl.CheckFramebufferStatus(GL_FRAMEBUFFER);
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
    return status == GL_FRAMEBUFFER_COMPLETE;
}

namespace {

constexpr const char* version = "#version 300 es\n";
// One triangle, of which the viewport is the middle.
constexpr const char* triangle = R"(
void main() {
    gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}
)";
// Without the second line what a sampler2D gives is lowp: in Mesa, half floats.
constexpr const char* precisions =
    "precision highp float;\nprecision highp sampler2D;\nprecision highp sampler2DArray;\n";

void attach(GLuint program, GLenum kind, const char* before, const char* source) {
    const GLuint shader = gl.CreateShader(kind);
    const char* const parts[] = {version, before, source};
    gl.ShaderSource(shader, 3, parts, nullptr);
    gl.CompileShader(shader);
    gl.AttachShader(program, shader);
    gl.DeleteShader(shader);  // with the program
}

}  // namespace

Drawing::Drawing(const std::string& source) : program_(gl.CreateProgram()) {
    attach(program_, GL_VERTEX_SHADER, "", triangle);
    attach(program_, GL_FRAGMENT_SHADER, precisions, source.c_str());
    gl.LinkProgram(program_);
    gl.GenVertexArrays(1, &vertex_array_);
}

Drawing& Drawing::operator=(Drawing&& other) noexcept {
    std::swap(program_, other.program_);
    std::swap(vertex_array_, other.vertex_array_);
    return *this;
}

Drawing::~Drawing() {
    if (!program_) return;
    gl.DeleteVertexArrays(1, &vertex_array_);
    gl.DeleteProgram(program_);
}

bool Drawing::ready() const {
    GLint linked = 0;
    if (program_) gl.GetProgramiv(program_, GL_LINK_STATUS, &linked);
    return linked != 0;
}

void Drawing::texture(const char* name, int unit, GLenum target, GLuint texture) const {
    gl.Uniform1i(uniform(name), unit);
    gl.ActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(unit));
    gl.BindTexture(target, texture);
}

void Drawing::draw(GLuint framebuffer, int width, int height) const {
    gl.BindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    gl.Viewport(0, 0, width, height);
    gl.BindVertexArray(vertex_array_);
    gl.DrawArrays(GL_TRIANGLES, 0, 3);
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
}

}  // namespace samples
