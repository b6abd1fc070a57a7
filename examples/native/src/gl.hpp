// The functions of OpenGL ES 3.0 that the samples call, of whatever context is current, and what they make
// of them. Desktop OpenGL 4.3 has the same functions and takes the same shaders.

#ifndef SAMPLES_GL_HPP
#define SAMPLES_GL_HPP

#define GL_GLES_PROTOTYPES 0
#include <GLES3/gl3.h>

#include <shadergen/shadergen.hpp>
#include <string>

namespace samples {

#define SAMPLES_FUNCTIONS(USE)                       \
    USE(ACTIVETEXTURE, ActiveTexture)                \
    USE(ATTACHSHADER, AttachShader)                  \
    USE(BINDFRAMEBUFFER, BindFramebuffer)            \
    USE(BINDTEXTURE, BindTexture)                    \
    USE(BINDVERTEXARRAY, BindVertexArray)            \
    USE(BLITFRAMEBUFFER, BlitFramebuffer)            \
    USE(CHECKFRAMEBUFFERSTATUS, CheckFramebufferStatus) \
    USE(COMPILESHADER, CompileShader)                \
    USE(CREATEPROGRAM, CreateProgram)                \
    USE(CREATESHADER, CreateShader)                  \
    USE(DELETEFRAMEBUFFERS, DeleteFramebuffers)      \
    USE(DELETEPROGRAM, DeleteProgram)                \
    USE(DELETESHADER, DeleteShader)                  \
    USE(DELETETEXTURES, DeleteTextures)              \
    USE(DELETEVERTEXARRAYS, DeleteVertexArrays)      \
    USE(DRAWARRAYS, DrawArrays)                      \
    USE(FRAMEBUFFERTEXTURE2D, FramebufferTexture2D)  \
    USE(FRAMEBUFFERTEXTURELAYER, FramebufferTextureLayer) \
    USE(GENFRAMEBUFFERS, GenFramebuffers)            \
    USE(GENTEXTURES, GenTextures)                    \
    USE(GENVERTEXARRAYS, GenVertexArrays)            \
    USE(GETERROR, GetError)                          \
    USE(GETPROGRAMIV, GetProgramiv)                  \
    USE(GETSTRING, GetString)                        \
    USE(GETUNIFORMLOCATION, GetUniformLocation)      \
    USE(LINKPROGRAM, LinkProgram)                    \
    USE(READPIXELS, ReadPixels)                      \
    USE(SHADERSOURCE, ShaderSource)                  \
    USE(TEXPARAMETERI, TexParameteri)                \
    USE(TEXSTORAGE2D, TexStorage2D)                  \
    USE(TEXSTORAGE3D, TexStorage3D)                  \
    USE(TEXSUBIMAGE2D, TexSubImage2D)                \
    USE(UNIFORM1F, Uniform1f)                        \
    USE(UNIFORM1I, Uniform1i)                        \
    USE(UNIFORM2F, Uniform2f)                        \
    USE(UNIFORM4F, Uniform4f)                        \
    USE(USEPROGRAM, UseProgram)                      \
    USE(VIEWPORT, Viewport)

struct GL {
#define SAMPLES_MEMBER(type, name) PFNGL##type##PROC name = nullptr;
    SAMPLES_FUNCTIONS(SAMPLES_MEMBER)
#undef SAMPLES_MEMBER
};
extern GL gl;

// Find them; without them there is nothing to be done.
bool load_gl(shadergen::GetProcAddress find);

// A texture with a framebuffer to draw to it; row 0 is the top row of what it shows.
class Canvas {
public:
    Canvas() = default;
    // GL_TEXTURE_2D, or GL_TEXTURE_2D_ARRAY of one layer.
    Canvas(GLenum target, GLenum format, int width, int height);
    Canvas(Canvas&& other) noexcept { *this = std::move(other); }
    Canvas& operator=(Canvas&& other) noexcept;
    ~Canvas();

    GLuint texture() const { return texture_; }
    GLuint framebuffer() const { return framebuffer_; }
    int width() const { return width_; }
    int height() const { return height_; }
    bool complete() const;  // whether GL can draw to it

private:
    GLuint texture_ = 0, framebuffer_ = 0;
    int width_ = 0, height_ = 0;
};

// A fragment shader that is drawn over all of a framebuffer.
class Drawing {
public:
    Drawing() = default;
    explicit Drawing(const std::string& source);  // without its #version line
    Drawing(Drawing&& other) noexcept { *this = std::move(other); }
    Drawing& operator=(Drawing&& other) noexcept;
    ~Drawing();

    bool ready() const;
    // Make it current, to set uniforms and bind textures before draw().
    void use() const { gl.UseProgram(program_); }
    GLint uniform(const char* name) const { return gl.GetUniformLocation(program_, name); }
    void texture(const char* name, int unit, GLenum target, GLuint texture) const;
    void draw(GLuint framebuffer, int width, int height) const;

private:
    GLuint program_ = 0, vertex_array_ = 0;
};

}  // namespace samples

#endif
