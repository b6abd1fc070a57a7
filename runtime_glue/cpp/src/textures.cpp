#include "textures.hpp"

namespace shadergen {

namespace {

Int side(std::int64_t size) { return static_cast<Int>(size); }

Name name_of(const Texture& texture, const GLTextures& names, std::int64_t layer) {
    return names[texture.is_array ? 0 : static_cast<std::size_t>(layer)];
}

void attach_layer(const GL& gl, Enum target, Enum point, const Target& to) {
    if (to.texture->is_array) gl.FramebufferTextureLayer(target, point, to.name, 0, to.layer);
    else gl.FramebufferTexture2D(target, point, gl::TEXTURE_2D, to.name, 0);
}

template <class Set>
void make_nearest(Set set) {
    set(gl::TEXTURE_MIN_FILTER, gl::NEAREST), set(gl::TEXTURE_MAG_FILTER, gl::NEAREST);
    set(gl::TEXTURE_WRAP_S, gl::CLAMP_TO_EDGE), set(gl::TEXTURE_WRAP_T, gl::CLAMP_TO_EDGE);
}

bool holds_floats(const GL& gl) {
    Int type = 0;
    gl.GetFramebufferAttachmentParameteriv(gl::READ_FRAMEBUFFER, gl::COLOR_ATTACHMENT0,
                                           gl::FRAMEBUFFER_ATTACHMENT_COMPONENT_TYPE, &type);
    return static_cast<Enum>(type) == gl::FLOAT;
}

void tell_status(Enum status, std::string& why) {
    const char* what = nullptr;
    if (status == gl::FRAMEBUFFER_INCOMPLETE_ATTACHMENT) what = "INCOMPLETE_ATTACHMENT";
    if (status == gl::FRAMEBUFFER_UNSUPPORTED) what = "UNSUPPORTED";
    why = "the framebuffer's status is ";
    if (what) tell(why, "GL_FRAMEBUFFER_{}", {what});
    else tell(why, "{}", {hex(status)});
}

void begin_reading(const GL& gl, Name framebuffer) {
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, framebuffer);
    gl.ReadBuffer(gl::COLOR_ATTACHMENT0);
    gl.BindBuffer(gl::PIXEL_PACK_BUFFER, 0);
    for (const Enum skip : {gl::PACK_ROW_LENGTH, gl::PACK_SKIP_ROWS, gl::PACK_SKIP_PIXELS})
        gl.PixelStorei(skip, 0);
    gl.PixelStorei(gl::PACK_ALIGNMENT, 4);
    if (gl.desktop) gl.PixelStorei(gl::PACK_SWAP_BYTES, 0);
}

}  // namespace

GLTextures make_textures(const GL& gl, Objects& objects, const Texture& texture) {
    const Enum target = target_of(texture);
    GLTextures names(static_cast<std::size_t>(texture.objects()));
    for (Name& name : names) {
        name = objects.make(Objects::texture);
        gl.BindTexture(target, name);
        const Enum format = texture.format->internal;
        const Int width = side(texture.width), height = side(texture.height);
        if (texture.is_array)
            gl.TexStorage3D(target, 1, format, width, height, side(texture.layers));
        else gl.TexStorage2D(target, 1, format, width, height);
        make_nearest([&](Enum what, Enum value) {
            gl.TexParameteri(target, what, static_cast<Int>(value));
        });
    }
    gl.BindTexture(target, 0);
    return names;
}

Name make_sampler(const GL& gl, Objects& objects) {
    const Name sampler = objects.make(Objects::sampler);
    make_nearest([&](Enum what, Enum value) {
        gl.SamplerParameteri(sampler, what, static_cast<Int>(value));
    });
    return sampler;
}

void fill_textures(const GL& gl, const Texture& texture, const GLTextures& names,
                   const void* texels) {
    static constexpr Enum externals[] = {0, gl::RED, gl::RG, 0, gl::RGBA};
    static constexpr Enum types[] = {gl::UNSIGNED_BYTE, gl::HALF_FLOAT, gl::FLOAT};
    const Enum target = target_of(texture);
    const Enum external = externals[texture.format->components];
    const Enum type = types[static_cast<int>(texture.format->texel)];
    gl.BindBuffer(gl::PIXEL_UNPACK_BUFFER, 0);
    for (const Enum skip : {gl::UNPACK_ROW_LENGTH, gl::UNPACK_IMAGE_HEIGHT, gl::UNPACK_SKIP_ROWS,
                            gl::UNPACK_SKIP_PIXELS, gl::UNPACK_SKIP_IMAGES})
        gl.PixelStorei(skip, 0);
    gl.PixelStorei(gl::UNPACK_ALIGNMENT, 1);
    if (gl.desktop) gl.PixelStorei(gl::UNPACK_SWAP_BYTES, 0);
    const Int width = side(texture.width), height = side(texture.height);
    const auto* bytes = static_cast<const char*>(texels);
    for (const Name name : names) {
        gl.BindTexture(target, name);
        if (texture.is_array)
            gl.TexSubImage3D(target, 0, 0, 0, 0, width, height, side(texture.layers), external,
                             type, bytes);
        else gl.TexSubImage2D(target, 0, 0, 0, width, height, external, type, bytes);
        bytes += texture.bytes() / static_cast<std::int64_t>(names.size());
    }
    gl.BindTexture(target, 0);
    gl.PixelStorei(gl::UNPACK_ALIGNMENT, 4);
}

bool attach(const GL& gl, Name framebuffer, const List<Target>& targets, Error& error) {
    List<Enum> points;
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    for (const Target& to : targets) {
        points.push_back(gl::COLOR_ATTACHMENT0 + static_cast<Enum>(points.size()));
        attach_layer(gl, gl::DRAW_FRAMEBUFFER, points.back(), to);
    }
    gl.DrawBuffers(static_cast<Int>(points.size()), points.begin());
    const Enum status = gl.CheckFramebufferStatus(gl::DRAW_FRAMEBUFFER);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    if (status == gl::FRAMEBUFFER_COMPLETE) return true;
    std::string names, formats;
    for (const Target& to : targets) {
        enlist_once(names, say("'{}'", {to.texture->name}));
        enlist_once(formats, to.texture->format->name);
    }
    tell_status(status, error.why);
    error.help =
        "bind a texture of the schedule's kind (2D or array) with a color-renderable format";
    return fail(error, "SG0602", "this GL cannot draw to {} ({})", {names, formats});
}

bool check_framebuffer(const GL& gl, Name framebuffer, std::string_view output, Error& error) {
    forget_errors(gl);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, framebuffer);
    const Enum status = gl.CheckFramebufferStatus(gl::DRAW_FRAMEBUFFER);
    gl.BindFramebuffer(gl::DRAW_FRAMEBUFFER, 0);
    if (!check_errors(gl, error, "the framebuffer {} is bound", {framebuffer})) return false;
    if (status == gl::FRAMEBUFFER_COMPLETE) return true;
    tell_status(status, error.why);
    return fail(error, "SG0605", "the output '{}' cannot go to the framebuffer {}",
                {output, framebuffer});
}

namespace {

// Add what keeps the bound texture from being read or written as floats, if anything does.
void find_mismatch(const GL& gl, const Texture& texture, Name name, std::string& wrong,
                   std::string& help) {
    const auto ask = [&](Enum what) {
        Int value = 0;
        gl.GetTexLevelParameteriv(target_of(texture), 0, what, &value);
        return value;
    };
    const auto differs = [&](Enum what, const char* word, std::int64_t size) {
        const Int value = ask(what);
        if (value == size) return false;
        tell(wrong, "texture {} has a {} of {}, not {}", {name, word, value, size});
        return true;
    };
    if (!ask(gl::TEXTURE_WIDTH)) {  // GL has not bound a texture of another kind
        tell(wrong, texture.is_array ? "texture {} is not an array texture with storage"
                                     : "texture {} is not a 2D texture with storage", {name});
        return;
    }
    if (differs(gl::TEXTURE_WIDTH, "width", texture.width) ||
        differs(gl::TEXTURE_HEIGHT, "height", texture.height)) {
        help =
            "give a texture of the build's size, or resize() a build compiled with "
            "--input-size dynamic";
        return;
    }
    if (texture.is_array && differs(gl::TEXTURE_DEPTH, "depth", texture.layers)) return;
    const auto red = static_cast<Enum>(ask(gl::TEXTURE_RED_TYPE));
    if (red == gl::INT || red == gl::UNSIGNED_INT)
        tell(wrong, "texture {} has an integer format, but the shaders use floats", {name});
    else if (ask(gl::TEXTURE_DEPTH_TYPE) || ask(gl::TEXTURE_STENCIL_SIZE))
        tell(wrong, "texture {} has a depth or stencil format", {name});
    else if (texture.is_planes && ask(gl::TEXTURE_RED_SIZE)) {
        // A missing component reads as 0, or as what the swizzle names; alpha reads as 1, as that of
        // an opaque picture. Luminance has no red, and reads as three equal components.
        const auto lacks = [&](Enum size, Enum swizzle, Enum own) {
            Int source = 0;
            gl.GetTexParameteriv(target_of(texture), swizzle, &source);
            return !ask(size) && static_cast<Enum>(source) == own;
        };
        const bool green = lacks(gl::TEXTURE_GREEN_SIZE, gl::TEXTURE_SWIZZLE_G, gl::GREEN);
        const bool blue = lacks(gl::TEXTURE_BLUE_SIZE, gl::TEXTURE_SWIZZLE_B, gl::BLUE);
        if ((texture.channels < 2 || !green) && (texture.channels < 3 || !blue)) return;
        tell(wrong, "texture {} has {} for {} channels",
             {name, green ? "one component" : "two components", texture.channels});
        help = "give a texture with more components, such as GL_RGBA8";
    }
}

}  // namespace

bool check_textures(const GL& gl, const Port& port, const Texture& texture, const GLTextures& names,
                    Error& error) {
    const Enum target = target_of(texture);
    std::string wrong;
    for (const Name name : names) {
        // Binding would make one; who makes an external texture's images may do so later.
        if (!texture.is_external && !gl.IsTexture(name)) {
            if (wrong.empty()) tell(wrong, "there is no texture {} in this context", {name});
            continue;
        }
        gl.BindTexture(target, name);
        if (wrong.empty() && gl.GetTexLevelParameteriv && !texture.is_external)
            find_mismatch(gl, texture, name, wrong, error.help);
    }
    gl.BindTexture(target, 0);
    if (wrong.empty()) return true;
    locate(error, port.name);
    return fail(error, "SG0605", "{}", {wrong});
}

std::string format_name(const GL& gl, const Texture& texture, Name name) {
    static constexpr struct {
        Enum internal;
        const char* name;
    } known[] = {{0x822D, "R16F"},    {0x822E, "R32F"},    {0x822F, "RG16F"},
                 {0x8230, "RG32F"},   {0x8814, "RGBA32F"}, {0x8815, "RGB32F"},
                 {0x881A, "RGBA16F"}, {0x881B, "RGB16F"},  {0x8C3A, "R11F_G11F_B10F"},
                 {0x8C3D, "RGB9_E5"}, {0x8C41, "SRGB8"}};
    if (!gl.GetTexLevelParameteriv) return {};
    Int value = 0;
    gl.BindTexture(target_of(texture), name);
    gl.GetTexLevelParameteriv(target_of(texture), 0, gl::TEXTURE_INTERNAL_FORMAT, &value);
    gl.BindTexture(target_of(texture), 0);
    const auto internal = static_cast<Enum>(value);
    for (const auto& each : known)
        if (each.internal == internal) return say("GL_{}", {each.name});
    return say("{}", {hex(internal)});
}

bool check_images(const GL& gl, const Texture& texture, const GLTextures& names, Error& error) {
    const Enum target = target_of(texture);
    std::string wrong;
    for (const Name name : names) {
        Int immutable = 0, format = 0;
        gl.BindTexture(target, name);
        gl.GetTexParameteriv(target, gl::TEXTURE_IMMUTABLE_FORMAT, &immutable);
        gl.GetTexLevelParameteriv(target, 0, gl::TEXTURE_INTERNAL_FORMAT, &format);
        if (wrong.empty() && !immutable) wrong = "its storage is not immutable";
        if (wrong.empty() && static_cast<Enum>(format) != texture.format->internal)
            tell(wrong, "its format is {}", {hex(static_cast<Enum>(format))});
    }
    gl.BindTexture(target, 0);
    if (wrong.empty()) return true;
    error.why = wrong;
    tell(error.help, "make the texture with glTexStorage and the format {}",
         {texture.format->name});
    return fail(error, "SG0602", "this texture cannot be bound as the image '{}'", {texture.name});
}

List<float> read_textures(const GL& gl, Name framebuffer, const Texture& texture,
                          const GLTextures& names) {
    const auto texels = static_cast<std::size_t>(texture.width * texture.height);
    const auto layers = static_cast<std::size_t>(texture.layers);
    List<float> values(texels * layers * lanes);
    List<std::uint8_t> bytes;
    begin_reading(gl, framebuffer);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const auto index = static_cast<std::int32_t>(layer);
        attach_layer(gl, gl::READ_FRAMEBUFFER, gl::COLOR_ATTACHMENT0,
                     {&texture, name_of(texture, names, index), index});
        // the application's texture may be of another type than the schedule's
        const bool floats = holds_floats(gl);
        float* const to = values.begin() + layer * texels * lanes;
        if (!floats) bytes.resize(texels * lanes);
        gl.ReadPixels(0, 0, side(texture.width), side(texture.height), gl::RGBA,
                      floats ? gl::FLOAT : gl::UNSIGNED_BYTE,
                      floats ? static_cast<void*>(to) : bytes.begin());
        for (std::size_t i = 0; i < bytes.size(); ++i)
            to[i] = static_cast<float>(bytes[i]) / 255.0F;
    }
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, 0);
    return values;
}

void await_textures(const GL& gl, Name framebuffer, const Texture& texture,
                    const GLTextures& names) {
    float texel[lanes];
    begin_reading(gl, framebuffer);
    const auto last = static_cast<std::int32_t>(texture.layers - 1);
    attach_layer(gl, gl::READ_FRAMEBUFFER, gl::COLOR_ATTACHMENT0,
                 {&texture, name_of(texture, names, last), last});
    gl.ReadPixels(0, 0, 1, 1, gl::RGBA, holds_floats(gl) ? gl::FLOAT : gl::UNSIGNED_BYTE, texel);
    gl.BindFramebuffer(gl::READ_FRAMEBUFFER, 0);
}

}  // namespace shadergen
