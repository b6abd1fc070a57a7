// Textures and framebuffers on GL: make, fill, draw to, read back. The GL textures of a tensor are
// one array texture, or one 2D texture for each layer.

#ifndef SHADERGEN_TEXTURES_HPP
#define SHADERGEN_TEXTURES_HPP

#include "gl.hpp"
#include "objects.hpp"
#include "schedule.hpp"

namespace shadergen {

using GLTextures = List<Name>;

// A layer that a framebuffer draws to.
struct Target {
    const Texture* texture;
    Name name;  // the array, or the 2D texture of the layer
    std::int32_t layer;
};

inline Enum target_of(const Texture& texture) {
    if (texture.is_external) return gl::TEXTURE_EXTERNAL_OES;
    return texture.is_array ? gl::TEXTURE_2D_ARRAY : gl::TEXTURE_2D;
}

// Without content, nearest and clamped.
GLTextures make_textures(const GL& gl, Objects& objects, const Texture& texture);
// The sampler through which every texture is read, the application's included.
Name make_sampler(const GL& gl, Objects& objects);
// Fill with texels of the texture's format, layer after layer.
void fill_textures(const GL& gl, const Texture& texture, const GLTextures& names,
                   const void* texels);

// Let a framebuffer draw to layers, attachment i to targets[i]. SG0602.
bool attach(const GL& gl, Name framebuffer, const List<Target>& targets, Error& error);

// Refuse an application's framebuffer that is not complete. SG0605.
bool check_framebuffer(const GL& gl, Name framebuffer, std::string_view output, Error& error);

// Refuse an application's textures that are none, of other sizes or without colours (SG0605), as
// far as GL tells; external ones are of any.
bool check_textures(const GL& gl, const Port& port, const Texture& texture, const GLTextures& names,
                    Error& error);
// GL's name of the format of an application's texture, or nothing where GL does not tell.
std::string format_name(const GL& gl, const Texture& texture, Name name);
// Refuse those that shaders cannot have as images of the stated format. SG0602.
bool check_images(const GL& gl, const Texture& texture, const GLTextures& names, Error& error);

// Four floats for each texel, layer after layer; bytes are given as 0..1.
List<float> read_textures(const GL& gl, Name framebuffer, const Texture& texture,
                          const GLTextures& names);
// Return when the textures are drawn, by reading a texel of the last layer: it cannot come early,
// as glFinish may.
void await_textures(const GL& gl, Name framebuffer, const Texture& texture,
                    const GLTextures& names);

}  // namespace shadergen

#endif
