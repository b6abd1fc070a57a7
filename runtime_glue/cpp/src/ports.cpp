// A player's inputs and outputs: textures of the application, and arrays.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "impl.hpp"
#include "pixels.hpp"

namespace shadergen {

Error Player::Impl::find(Ports list, std::string_view name, std::size_t& index) const {
    if (!ready) return not_ready();
    const List<Port>& ports = schedule().*list;
    const char* kind = list == &Schedule::inputs ? "input" : "output";
    for (index = 0; index < ports.size(); ++index)
        if (ports[index].name == name) return {};
    Error error = error_of("SG0605", "the build has no {} '{}'", {kind, name});
    List<std::string_view> known;
    for (const Port& port : ports) {
        error.supported += say("{}{}", {known.empty() ? "" : ", ", port.name});
        known.push_back(port.name);
    }
    error.help = did_you_mean(name, known);
    return error;
}

// Check the application's textures for a port as far as GL tells; they are in `given` then.
Error Player::Impl::check_given(const Port& port, const unsigned* names, std::size_t count) {
    const Texture& t = texture(port.texture);
    given.clear();
    for (std::size_t i = 0; i < count; ++i) given.push_back(names[i]);
    const bool zero = shadergen::find(given, 0U) < given.size();
    if (zero || static_cast<std::int64_t>(count) != t.objects())
        return error_of("SG0605", "'{}' takes {}, not {}{} of them",
                        {port.name,
                         t.is_array      ? std::string("an array texture")
                         : t.is_external ? std::string("an external texture")
                                         : say("{} 2D textures", {t.objects()}),
                         zero ? "texture 0 or " : "", count});
    forget_errors(gl);
    Error error = check_textures(gl, port, t, given);
    if (error) return error;
    return check_errors(gl, "the texture of '{}' is bound as {}",
                        {port.name, t.is_array      ? "array"
                                    : t.is_external ? "external"
                                                    : "2d"});
}

Error Player::bind_input(std::string_view name, unsigned texture) {
    return bind_input(name, &texture, 1);
}

Error Player::bind_input(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::inputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().inputs[index];
    if (p.texture(port.texture).is_external)
        return error_of("SG0605", "'{}' takes an external texture and its matrix", {name});
    return p.bind(port, textures, count);
}

Error Player::bind_input(std::string_view name, unsigned texture, const float* matrix) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::inputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().inputs[index];
    if (!p.texture(port.texture).is_external)
        return error_of("SG0605", "'{}' takes no matrix", {name});
    for (std::size_t i = 0; i < matrix_size; ++i)
        if (!std::isfinite(matrix[i])) {
            error = error_of("SG0605", "the matrix of '{}' has the number {}",
                             {name, static_cast<double>(matrix[i])});
            error.supported = "16 finite numbers, column by column";
            return error;
        }
    const GLTextures& bound = p.sized.textures[at(port.texture)];
    if (bound.size() != 1 || bound[0] != texture) error = p.bind(port, &texture, 1);
    if (error) return error;
    for (Matrix& known : p.matrices)
        if (known.texture == port.texture) std::memcpy(known.numbers, matrix, sizeof known.numbers);
    return {};
}

Error Player::Impl::bind(const Port& port, const unsigned* names, std::size_t count) {
    enter();
    Error error = check_given(port, names, count);
    leave();
    if (error) return error;
    sized.textures[at(port.texture)] = given;
    recorded = false;
    return {};
}

Error Player::bind_output(std::string_view name, unsigned texture) {
    return bind_output(name, &texture, 1);
}

Error Player::bind_output(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    p.enter();
    error = p.check_given(port, textures, count);
    if (!error) {
        GLTextures& bound = p.sized.textures[at(port.texture)];
        const GLTextures before = bound;
        bound = p.given;
        p.recorded = false;
        error = p.rebind(port);
        if (error) {
            locate(error, say("output '{}'", {name}));
            bound = before;
            p.rebind(port);
        }
    }
    p.leave();
    return error;
}

// Let all passes write an output to the textures that it has now.
Error Player::Impl::rebind(const Port& port) {
    bool image = false;
    for (const Pass& pass : schedule().passes) {
        for (const Read& read : pass.reads)
            image = image || (read.is_image() && read.texture == port.texture);
        image = image || (pass.compute && pass.writes[0].texture == port.texture);
    }
    Error error;
    if (image) error = check_images(gl, texture(port.texture), sized.textures[at(port.texture)]);
    for (std::size_t i = 0; i < schedule().passes.size() && !error; ++i) {
        const Pass& pass = schedule().passes[i];
        bool writes = false;
        for (const Write& write : pass.writes) writes = writes || write.texture == port.texture;
        if (pass.compute || !writes) continue;
        if (sized.foreign[i]) sized.framebuffers[i] = sized.objects.make(Objects::framebuffer);
        sized.foreign[i] = false;
        error = attach_pass(schedule(), sized, i);
    }
    return error;
}

Error Player::bind_output_framebuffer(std::string_view name, unsigned framebuffer) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    std::size_t writer = 0, writers = 0;
    bool alone = true;
    for (std::size_t i = 0; i < p.schedule().passes.size(); ++i) {
        const Pass& pass = p.schedule().passes[i];
        for (const Read& read : pass.reads) alone = alone && read.texture != port.texture;
        for (const Write& write : pass.writes) {
            if (write.texture != port.texture) continue;
            writer = i, ++writers;
            alone = alone && !pass.compute && pass.writes.size() == 1;
        }
    }
    if (!alone || writers != 1) {
        error = error_of("SG0605", "the output '{}' cannot go to a framebuffer", {name});
        error.why = "more than one draw computes it, a dispatch does, or it is read again";
        error.help = "bind a texture, and blit it to the framebuffer";
        return error;
    }
    p.sized.framebuffers[writer] = framebuffer;
    p.sized.foreign[writer] = true;
    p.recorded = false;
    return {};
}

Result<unsigned> Player::output_texture(std::string_view name, int layer) const {
    Result<unsigned> result;
    const Impl& p = *impl_;
    std::size_t index = 0;
    result.error = p.find(&Schedule::outputs, name, index);
    if (result.error) return result;
    const GLTextures& names = p.sized.textures[at(p.schedule().outputs[index].texture)];
    if (layer < 0 || at(layer) >= names.size())
        result.error = error_of("SG0605", "the output '{}' has {} textures, and no number {}",
                                {name, names.size(), layer});
    else result.value = names[at(layer)];
    return result;
}

namespace {

Error check_count(const Port& port, const char* kind, const char* verb, std::size_t count) {
    if (static_cast<std::int64_t>(count) == port.elements()) return {};
    return error_of("SG0605", "the {} '{}' {} {} numbers, shape {}, not {}",
                    {kind, port.name, verb, port.elements(),
                     shape_text(port.shape.data(), static_cast<std::size_t>(port.rank)), count});
}

}  // namespace

Error Player::upload_as(std::string_view name, DType type, const void* data, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::inputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().inputs[index];
    const Texture& texture = p.texture(port.texture);
    List<char> texels;
    if (texture.is_external) {
        error = error_of("SG0605", "the input '{}' is an external texture, which takes no arrays",
                         {name});
        error.help = "call bind_input() with a texture and its matrix";
        return error;
    }
    error = check_count(port, "input", "takes", count);
    if (!error) error = encode(port, texture, type, data, texels);
    if (error) return error;
    p.enter();
    forget_errors(p.gl);
    GLTextures& own = p.sized.uploads[index];
    if (own.empty()) own = make_textures(p.gl, p.sized.objects, texture);
    fill_textures(p.gl, texture, own, texels.begin());
    error = check_errors(p.gl, "the input '{}' is uploaded", {name});
    p.leave();
    GLTextures& bound = p.sized.textures[at(port.texture)];
    if (!error && !(bound == own)) bound = own, p.recorded = false;
    return error;
}

Error Player::read_as(std::string_view name, DType type, void* data, std::size_t count) {
    Impl& p = *impl_;
    std::size_t index = 0;
    Error error = p.find(&Schedule::outputs, name, index);
    if (error) return error;
    const Port& port = p.schedule().outputs[index];
    error = check_count(port, "output", "gives", count);
    for (std::size_t i = 0; i < p.schedule().passes.size() && !error; ++i)
        if (p.sized.foreign[i] && p.schedule().passes[i].writes[0].texture == port.texture)
            error = error_of("SG0605", "the output '{}' is drawn to the application's framebuffer",
                             {name});
    if (error) return error;
    const Texture& texture = p.texture(port.texture);
    p.enter();
    forget_errors(p.gl);
    const List<float> texels =
        read_textures(p.gl, p.read_framebuffer, texture, p.sized.textures[at(port.texture)]);
    error = check_errors(p.gl, "the output '{}' is read", {name});
    p.leave();
    if (!error) decode(port, texture, texels.begin(), type, data);
    return error;
}

}  // namespace shadergen
