// A runner's inputs and outputs: textures of the application, and arrays.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "impl.hpp"
#include "pixels.hpp"

namespace shadergen {

const Port* Runner::Impl::find(Ports list, std::string_view name, Error& error) const {
    if (!is_ready(error)) return nullptr;
    for (const Port& port : schedule().*list)
        if (port.name == name) return &port;
    List<std::string_view> known;
    for (const Port& port : schedule().*list) {
        enlist(error.supported, port.name);
        known.push_back(port.name);
    }
    error.help = did_you_mean(name, known);
    fail(error, "SG0605", "the build has no {} '{}'",
         {list == &Schedule::inputs ? "input" : "output", name});
    return nullptr;
}

// Check the application's textures for a port as far as GL tells; they are in `given` then.
bool Runner::Impl::check_given(const Port& port, const unsigned* names, std::size_t count,
                               Error& error) {
    const Texture& t = texture(port.texture);
    given.clear();
    for (std::size_t i = 0; i < count; ++i) given.push_back(names[i]);
    const bool zero = shadergen::find(given, 0U) < given.size();
    if (zero || static_cast<std::int64_t>(count) != t.objects())
        return fail(error, "SG0605", "'{}' takes {}; {}",
                    {port.name,
                     t.is_array         ? std::string("an array texture")
                     : t.is_external    ? std::string("an external texture")
                     : t.objects() == 1 ? std::string("a 2D texture")
                                        : say("{} 2D textures", {t.objects()}),
                     zero ? std::string("0 is not a texture") : say("{} given", {count})});
    forget_errors(gl);
    return check_textures(gl, port, t, given, error) &&
           check_errors(gl, error, "the texture of '{}' is bound as {}",
                        {port.name, t.is_array      ? "array"
                                    : t.is_external ? "external"
                                                    : "2d"});
}

Error Runner::bind_input(std::string_view name, unsigned texture) {
    return bind_input(name, &texture, 1);
}

Error Runner::bind_input(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::inputs, name, error);
    if (!port) return error;
    if (p.texture(port->texture).is_external)
        fail(error, "SG0605", "'{}' takes an external texture and its matrix", {name});
    else p.bind(*port, textures, count, error);
    return error;
}

Error Runner::bind_input(std::string_view name, unsigned texture, const float* matrix) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::inputs, name, error);
    if (!port) return error;
    if (!p.texture(port->texture).is_external) {
        fail(error, "SG0605", "'{}' is not an external texture, and takes no matrix", {name});
        return error;
    }
    for (std::size_t i = 0; i < matrix_size; ++i)
        if (!std::isfinite(matrix[i])) {
            error.supported = "16 finite numbers, column by column";
            fail(error, "SG0605", "the matrix of '{}' has the number {}",
                 {name, static_cast<double>(matrix[i])});
            return error;
        }
    const GLTextures& bound = p.bound(*port);
    if ((bound.size() != 1 || bound[0] != texture) && !p.bind(*port, &texture, 1, error))
        return error;
    for (Matrix& known : p.matrices)
        if (known.texture == port->texture.index)
            std::memcpy(known.numbers, matrix, sizeof known.numbers);
    return error;
}

bool Runner::Impl::bind(const Port& port, const unsigned* names, std::size_t count, Error& error) {
    enter();
    const bool good = check_given(port, names, count, error);
    leave();
    if (good) bound(port) = given, recorded = false;
    return good;
}

Error Runner::bind_output(std::string_view name, unsigned texture) {
    return bind_output(name, &texture, 1);
}

Error Runner::bind_output(std::string_view name, const unsigned* textures, std::size_t count) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::outputs, name, error);
    if (!port) return error;
    p.enter();
    if (p.check_given(*port, textures, count, error)) {
        const GLTextures before = p.bound(*port);
        p.bound(*port) = p.given;
        p.recorded = false;
        if (!p.rebind(*port, error)) {
            locate(error, "output '{}'", {name});
            p.bound(*port) = before;
            Error same;  // as these could be written before
            p.rebind(*port, same);
        }
    }
    p.leave();
    return error;
}

// Refuse an output in an input's texture, if the input is read in the output's pass or later. GL
// leaves the result undefined, or the input is overwritten before it is read.
bool Runner::Impl::check_apart(Error& error) const {
    const auto share = [&](const Port& one, const Port& other) {
        for (const Name name : sized.textures[at(one.texture)])
            for (const Name same : sized.textures[at(other.texture)])
                if (name == same) return true;
        return false;
    };
    for (const Port& output : schedule().outputs) {
        for (const Port& input : schedule().inputs) {
            if (!share(output, input)) continue;
            bool written = false, read = false;
            for (std::size_t i = 0; i < schedule().passes.size(); ++i) {
                const Pass& pass = schedule().passes[i];
                for (const Write& write : pass.writes)
                    written = written || (write.texture == output.texture && !sized.foreign[i]);
                for (const Read& each : pass.reads)
                    read = read || (written && each.texture == input.texture);
                if (!read) continue;
                tell(error.why,
                     "GPU pass {} reads the input, and this pass or an earlier one writes the output", {i});
                error.help = "bind another texture to the output";
                return fail(error, "SG0605", "the output '{}' has the texture of the input '{}'",
                            {output.name, input.name});
            }
        }
    }
    return true;
}

// Let all passes write an output to the textures that it has now.
bool Runner::Impl::rebind(const Port& port, Error& error) {
    bool image = false;
    for (const Pass& pass : schedule().passes) {
        for (const Read& read : pass.reads)
            image = image || (read.is_image() && read.texture == port.texture);
        image = image || (pass.is_compute && pass.writes[0].texture == port.texture);
    }
    if (image && !check_images(gl, texture(port.texture), bound(port), error)) return false;
    for (std::size_t i = 0; i < schedule().passes.size(); ++i) {
        const Pass& pass = schedule().passes[i];
        bool writes = false;
        for (const Write& write : pass.writes) writes = writes || write.texture == port.texture;
        if (pass.is_compute || !writes) continue;
        if (sized.foreign[i]) sized.framebuffers[i] = sized.objects.make(Objects::framebuffer);
        sized.foreign[i] = false;
        if (attach_pass(schedule(), sized, i, error)) continue;
        const std::string format = format_name(gl, texture(port.texture), bound(port)[0]);
        return fail(error, "SG0602", "this GL cannot draw to the texture of '{}'{}",
                    {port.name, format.empty() ? format : say(" ({})", {format})});
    }
    return true;
}

Error Runner::bind_output_framebuffer(std::string_view name, unsigned framebuffer) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::outputs, name, error);
    if (!port) return error;
    std::size_t writer = 0, writers = 0;
    bool alone = true;
    for (std::size_t i = 0; i < p.schedule().passes.size(); ++i) {
        const Pass& pass = p.schedule().passes[i];
        for (const Read& read : pass.reads) alone = alone && read.texture != port->texture;
        for (const Write& write : pass.writes) {
            if (write.texture != port->texture) continue;
            writer = i, ++writers;
            alone = alone && !pass.is_compute && pass.writes.size() == 1;
        }
    }
    if (alone && writers == 1) {
        p.enter();
        const bool good = check_framebuffer(p.gl, framebuffer, name, error);
        p.leave();
        if (!good) return error;
        p.sized.framebuffers[writer] = framebuffer;
        p.sized.foreign[writer] = true;
        p.recorded = false;
    } else {
        error.why =
            "exactly one draw must write the output, and write only the output; no pass may read "
            "the output";
        error.help = "bind a texture, and blit it to the framebuffer";
        fail(error, "SG0605", "the output '{}' cannot go to a framebuffer", {name});
    }
    return error;
}

Result<unsigned> Runner::output_texture(std::string_view name, int layer) const {
    Result<unsigned> result;
    const Port* const port = impl_->find(&Schedule::outputs, name, result.error);
    if (!port) return result;
    const GLTextures& names = impl_->bound(*port);
    if (layer >= 0 && at(layer) < names.size()) result.value = names[at(layer)];
    else {
        tell(result.error.supported, "0 to {}", {names.size() - 1});
        fail(result.error, "SG0605", "the output '{}' has no texture {}", {name, layer});
    }
    return result;
}

namespace {

bool check_count(const Port& port, const char* kind, const char* verb, std::size_t count,
                 Error& error) {
    if (static_cast<std::int64_t>(count) == prod(port.shape)) return true;
    return fail(
        error, "SG0605", "the {} '{}' {} {} numbers, shape {}, not {}",
        {kind, port.name, verb, prod(port.shape),
         port.shape.size() ? joined(port.shape.begin(), port.shape.size(), "x") : std::string("a single number"),
         count});
}

}  // namespace

Error Runner::upload_as(std::string_view name, DType type, const void* data, std::size_t count) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::inputs, name, error);
    if (!port) return error;
    const Texture& texture = p.texture(port->texture);
    if (texture.is_external) {
        error.help = "call bind_input() with a texture and its matrix";
        fail(error, "SG0605", "the input '{}' is an external texture, which takes no arrays",
             {name});
        return error;
    }
    List<char> texels;
    if (!check_count(*port, "input", "takes", count, error) ||
        !encode(*port, texture, type, data, texels, error))
        return error;
    p.enter();
    forget_errors(p.gl);
    const auto index = static_cast<std::size_t>(port - p.schedule().inputs.begin());
    GLTextures& own = p.sized.uploads[index];
    if (own.empty()) own = make_textures(p.gl, p.sized.objects, texture);
    fill_textures(p.gl, texture, own, texels.begin());
    const bool good = check_errors(p.gl, error, "the input '{}' is uploaded", {name});
    p.leave();
    if (good && !(p.bound(*port) == own)) p.bound(*port) = own, p.recorded = false;
    return error;
}

Error Runner::read_as(std::string_view name, DType type, void* data, std::size_t count) {
    Impl& p = *impl_;
    Error error;
    const Port* const port = p.find(&Schedule::outputs, name, error);
    if (!port || !check_count(*port, "output", "gives", count, error)) return error;
    for (std::size_t i = 0; i < p.schedule().passes.size(); ++i)
        if (p.sized.foreign[i] && p.schedule().passes[i].writes[0].texture == port->texture) {
            fail(error, "SG0605", "the output '{}' is drawn to the application's framebuffer",
                 {name});
            return error;
        }
    const Texture& texture = p.texture(port->texture);
    p.enter();
    forget_errors(p.gl);
    const List<float> texels = read_textures(p.gl, p.read_framebuffer, texture, p.bound(*port));
    const bool good = check_errors(p.gl, error, "the output '{}' is read", {name});
    p.leave();
    if (good) decode(*port, texture, texels.begin(), type, data);
    return error;
}

}  // namespace shadergen
