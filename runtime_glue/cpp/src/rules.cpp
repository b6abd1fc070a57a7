// Written by tools/make_web.py from python/rules.py.
// clang-format off

#include "rules.hpp"

namespace shadergen::rules {

bool check(const Schedule& build, std::int64_t weights_size, Error& error);
bool check_range(const Range& where, const Place& member, std::int64_t weights_size, Error& error);
bool check_texture(const Texture& texture, const Place& member, std::int64_t weights_size, bool is_input, Error& error);
bool check_ports(const Schedule& build, const List<Port>& ports, const Place& member, Error& error);
bool check_port(const Port& port, const Texture& texture, const Place& member, Error& error);
bool check_known(const Schedule& build, const Ref& name, const Place& member, Error& error);
bool check_passes(const Schedule& build, Set& inputs, Set& written, Error& error);
bool check_reads(const Schedule& build, const Pass& gpu_pass, std::int64_t index, const Place& member, Set& given, Set& written, Set& slots, Error& error);
bool check_lifetime(const Texture& texture, std::int64_t index, const Place& place, Error& error);
bool check_names(const Schedule& build, const Pass& gpu_pass, const Place& member, Error& error);
bool check_images(const Schedule& build, const Pass& gpu_pass, const Place& member, Set& inputs, Error& error);
bool check_image(const Texture& texture, const Place& member, Error& error);
bool check_writes(const Schedule& build, const Pass& gpu_pass, std::int64_t index, const Place& member, Set& given, Set& written, Set& slots, Error& error);
bool check_slots(const Schedule& build, Set& outputs, Error& error);
bool check_shared(const Texture& texture, Set& outputs, Error& error);
bool check_requirements(const Schedule& build, Error& error);
bool check_wgsl(const Schedule& build, Error& error);
bool check_limits(const Schedule& build, Error& error);

constexpr std::int64_t max_texture_bytes = 8589934592;
constexpr std::int64_t any_layer = -1;

bool check(const Schedule& build, std::int64_t weights_size, Error& error) {
    Set inputs;
    for (const auto& port : build.inputs) {
        inputs.add(key(port.texture));
    }
    Set outputs;
    for (const auto& port : build.outputs) {
        outputs.add(key(port.texture));
    }
    for (std::size_t i = 0; i < build.textures.size(); ++i) {
        const auto& texture = build.textures[i];
        if (!check_texture(texture, Place("textures", i), weights_size, inputs.has(key(texture.name)), error)) return false;
    }
    for (std::size_t i = 0; i < build.buffers.size(); ++i) {
        const auto& buffer = build.buffers[i];
        if (!check_range(buffer.range, Place("buffers", i), weights_size, error)) return false;
    }
    if (!check_ports(build, build.inputs, "inputs", error)) return false;
    if (!check_ports(build, build.outputs, "outputs", error)) return false;
    if (length(inputs) < length(build.inputs)) {
        return refuse(error, "two inputs share a texture", {}, "inputs");
    }
    Set written;
    if (!check_passes(build, inputs, written, error)) return false;
    for (const auto& port : build.outputs) {
        for (std::int64_t layer = 0; layer < build.textures[at(port.texture)].layers; ++layer) {
            if (!written.has(key(port.texture, layer))) {
                return refuse(error, "no GPU pass writes texture layer {} of the output '{}'", {layer, port.texture}, "outputs");
            }
        }
    }
    if (!check_slots(build, outputs, error)) return false;
    if (!check_requirements(build, error)) return false;
    if (!check_limits(build, error)) return false;
    return true;
}

bool check_range(const Range& where, const Place& member, std::int64_t weights_size, Error& error) {
    const auto end = where.offset + where.size;
    if (end > weights_size) {
        return refuse(error, "the bytes {} to {} lie outside the weights file of {} bytes", {where.offset, end, weights_size}, member);
    }
    return true;
}

bool check_texture(const Texture& texture, const Place& member, std::int64_t weights_size, bool is_input, Error& error) {
    if (texture.bytes() > max_texture_bytes) {
        return refuse(error, "the texture takes {} bytes, more than {}", {texture.bytes(), max_texture_bytes}, member);
    }
    if (texture.first > texture.last) {
        return refuse(error, "the first pass, {}, is after the last, {}", {texture.first, texture.last}, member);
    }
    const auto is_plain = (texture.layers == 1) && texture.is_planes && (texture.format == format_of("rgba8"));
    if (texture.is_external && !(is_plain && is_input)) {
        return refuse(error, "an external texture must be an rgba8 input of one layer, packed in planes", {}, member, "kind");
    }
    if (!is_none(texture.data)) {
        if (is_input) {
            return refuse(error, "an input cannot have data", {}, member, "data");
        }
        if (!check_range(texture.data, Place(member, "data"), weights_size, error)) return false;
        if (texture.data.size != texture.bytes()) {
            return refuse(error, "the texels take {} bytes, the data has {} bytes", {texture.bytes(), texture.data.size}, member, "data");
        }
        return true;
    }
    const auto needed = texture.batch * (((texture.channels + lanes) - 1) / lanes);
    const auto room = (texture.width * texture.height) * texture.layers;
    if (!texture.is_planes && (needed > room)) {
        return refuse(error, "{} rows of {} values need {} texels, the texture has {}", {texture.batch, texture.channels, needed, room}, member, "batch");
    }
    if (texture.is_planes && (needed != texture.layers)) {
        return refuse(error, "{} channels with batch {} take {} layers, not {}", {texture.channels, texture.batch, needed, texture.layers}, member, "layers");
    }
    if (texture.format->components < std::min<std::int64_t>(texture.channels, lanes)) {
        return refuse(error, "{} channels do not fit {}", {texture.channels, texture.format->name}, member, "format");
    }
    if (is_input != is_none(texture.slot)) {
        return refuse(error, "slot must be null for inputs, a number otherwise", {}, member, "slot");
    }
    return true;
}

bool check_ports(const Schedule& build, const List<Port>& ports, const Place& member, Error& error) {
    List<std::string_view> names;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const auto& port = ports[i];
        const Place place(member, nullptr, i);
        if (has(names, port.name)) {
            return refuse(error, "the name '{}' is taken", {port.name}, place, "name");
        }
        names.push_back(port.name);
        if (!check_known(build, port.texture, Place(place, "texture"), error)) return false;
        if (!check_port(port, build.textures[at(port.texture)], place, error)) return false;
    }
    return true;
}

bool check_port(const Port& port, const Texture& texture, const Place& member, Error& error) {
    const auto rank = length(port.shape);
    if ((length(port.axes) != rank) || any(port.axes, [&](const auto& axis) { return axis >= rank; })) {
        return refuse(error, "the axes {} must name each axis of the shape exactly once", {listed(port.axes)}, member, "axes");
    }
    const auto shape = logical_shape(port.shape, port.axes);
    const auto is_signed = (port.encoding == Encoding::y2rg) || (port.encoding == Encoding::y2rg_half);
    if (texture.is_planes) {
        if (rank > map_rank) {
            return refuse(error, "planes hold up to {} axes, not {}", {map_rank, rank}, member, "shape");
        }
        const auto [n, c, h, w] = as_map(shape);
        const auto channels_fit = is_signed ? ((c == 1) && (texture.channels <= 2)) : (c == texture.channels);
        if (!(channels_fit && (n == texture.batch) && (h == texture.height) && (w == texture.width))) {
            return refuse(error, "the shape has N, C, H, W = {}, {}, {}, {}; the texture has {}, {}, {}, {}", {n, c, h, w, texture.batch, texture.channels, texture.height, texture.width}, member, "shape");
        }
    } else if (is_signed) {
        return refuse(error, "the encoding {} needs a channel-packed texture", {name_of(port.encoding)}, member, "encoding");
    } else {
        const auto row = (rank > 0) ? shape[rank - 1] : 1;
        if ((row != texture.channels) || (prod(shape) != (texture.batch * texture.channels))) {
            return refuse(error, "the shape {} does not fit a texture of {} rows of {} values", {listed(shape), texture.batch, texture.channels}, member, "shape");
        }
    }
    if ((port.dtype != DType::float32) && (port.encoding != Encoding::plain)) {
        return refuse(error, "the encoding {} does not support {}", {name_of(port.encoding), name_of(port.dtype)}, member, "dtype");
    }
    if ((port.encoding == Encoding::unorm8) && (texture.format->bits() != 8)) {
        return refuse(error, "the encoding unorm8 needs an 8-bit texture, not {}", {texture.format->name}, member);
    }
    if (((port.encoding == Encoding::plain) || (port.encoding == Encoding::y2rg)) && (texture.format->bits() == 8)) {
        return refuse(error, "the encoding {} needs a float texture", {name_of(port.encoding)}, member);
    }
    if (is_signed && (texture.format->components < 2)) {
        return refuse(error, "the encoding {} needs two channels, not {}", {name_of(port.encoding), texture.format->name}, member);
    }
    return true;
}

bool check_known(const Schedule& build, const Ref& name, const Place& member, Error& error) {
    if (!has(build.textures, name)) {
        return refuse(error, "there is no texture '{}'", {name}, member);
    }
    return true;
}

bool check_passes(const Schedule& build, Set& inputs, Set& written, Error& error) {
    Set given;
    for (const auto& texture : build.textures) {
        if (!is_none(texture.data) || inputs.has(key(texture.name))) given.add(key(texture.name));
    }
    for (std::size_t i = 0; i < build.passes.size(); ++i) {
        const auto& gpu_pass = build.passes[i];
        const Place place("passes", i);
        Set slots;
        if (!check_reads(build, gpu_pass, i, place, given, written, slots, error)) return false;
        if (!check_names(build, gpu_pass, place, error)) return false;
        if (!check_images(build, gpu_pass, place, inputs, error)) return false;
        if (!check_writes(build, gpu_pass, i, place, given, written, slots, error)) return false;
    }
    return true;
}

bool check_reads(const Schedule& build, const Pass& gpu_pass, std::int64_t index, const Place& member, Set& given, Set& written, Set& slots, Error& error) {
    for (std::size_t j = 0; j < gpu_pass.reads.size(); ++j) {
        const auto& read = gpu_pass.reads[j];
        const Place place(member, "reads", j);
        if (!check_known(build, read.texture, place, error)) return false;
        const auto& texture = build.textures[at(read.texture)];
        if (texture.is_external && is_none(read.matrix)) {
            return refuse(error, "a read of an external texture needs a matrix", {}, place, "matrix");
        }
        if (!texture.is_external && !is_none(read.matrix)) {
            return refuse(error, "only reads of external textures have a matrix", {}, place, "matrix");
        }
        std::int64_t low = 0;
        std::int64_t high = texture.layers;
        if (!is_none(read.layer)) {
            if (texture.is_array || (read.layer >= texture.layers)) {
                return refuse(error, "'{}' has no 2D texture for layer {}", {texture.name, read.layer}, place);
            }
            low = read.layer;
            high = low + 1;
        } else if (!texture.is_array && (texture.layers > 1)) {
            return refuse(error, "'{}' has {} layers: name one of them", {texture.name, texture.layers}, place);
        }
        if (!is_none(read.layers)) {
            low = read.layers[0];
            high = low + read.layers[1];
            if (!texture.is_array || (high > texture.layers)) {
                return refuse(error, "'{}' is not an array texture with a layer {}", {texture.name, high - 1}, place, "layers");
            }
        }
        for (std::int64_t layer = low; layer < high; ++layer) {
            if (!given.has(key(read.texture)) && (!written.has(key(read.texture, layer)))) {
                return refuse(error, "layer {} of '{}' is read before it is written", {layer, texture.name}, place);
            }
            slots.add(key(texture.slot, layer));
        }
        slots.add(key(texture.slot, any_layer));
        if (!check_lifetime(texture, index, place, error)) return false;
    }
    return true;
}

bool check_lifetime(const Texture& texture, std::int64_t index, const Place& place, Error& error) {
    if ((index < texture.first) || (index > texture.last)) {
        return refuse(error, "pass {} uses '{}' outside its lifetime, passes {} to {}", {index, texture.name, texture.first, texture.last}, place);
    }
    return true;
}

bool check_names(const Schedule& build, const Pass& gpu_pass, const Place& member, Error& error) {
    List<std::string_view> blocks;
    for (std::size_t j = 0; j < gpu_pass.blocks.size(); ++j) {
        const auto& block = gpu_pass.blocks[j];
        if (!has(build.buffers, block.buffer)) {
            return refuse(error, "there is no buffer '{}'", {block.buffer}, Place(member, "blocks", j));
        }
        blocks.push_back(block.block);
    }
    if (repeats(blocks)) {
        return refuse(error, "a block is given twice", {}, member, "blocks");
    }
    List<std::string_view> uniforms;
    for (const auto& uniform : gpu_pass.uniforms) {
        uniforms.push_back(uniform.name);
    }
    for (const auto& read : gpu_pass.reads) {
        if (!read.is_image()) {
            uniforms.push_back(read.uniform);
        }
        if (!is_none(read.matrix)) {
            uniforms.push_back(read.matrix);
        }
    }
    if (repeats(uniforms)) {
        return refuse(error, "a uniform is given twice", {}, member);
    }
    return true;
}

bool check_images(const Schedule& build, const Pass& gpu_pass, const Place& member, Set& inputs, Error& error) {
    List<std::int64_t> units;
    for (const auto& read : gpu_pass.reads) {
        if (read.is_image()) {
            if (inputs.has(key(read.texture))) {
                return refuse(error, "the input '{}' cannot be read as an image", {read.texture}, member, "reads");
            }
            if (!check_image(build.textures[at(read.texture)], member, error)) return false;
            units.push_back(read.image);
        }
    }
    if (gpu_pass.is_compute) {
        const auto name = gpu_pass.writes[0].texture;
        if (any(gpu_pass.writes, [&](const auto& write) { return write.texture != name; })) {
            return refuse(error, "a compute pass writes only one texture", {}, member, "writes");
        }
        if (!check_known(build, name, Place(member, "writes"), error)) return false;
        const auto& texture = build.textures[at(name)];
        if ((length(gpu_pass.writes) > 1) && !texture.is_array) {
            return refuse(error, "'{}' is a 2D texture: several writes of a compute pass need an array", {name}, member, "writes");
        }
        if (!check_image(texture, member, error)) return false;
        units.push_back(gpu_pass.image);
    }
    if (repeats(units)) {
        return refuse(error, "an image unit is given twice", {}, member);
    }
    return true;
}

bool check_image(const Texture& texture, const Place& member, Error& error) {
    if (!texture.format->image) {
        return refuse(error, "'{}': format {} cannot be bound as an image", {texture.name, texture.format->name}, member);
    }
    return true;
}

bool check_writes(const Schedule& build, const Pass& gpu_pass, std::int64_t index, const Place& member, Set& given, Set& written, Set& slots, Error& error) {
    Set layers;
    for (std::size_t j = 0; j < gpu_pass.writes.size(); ++j) {
        const auto& write = gpu_pass.writes[j];
        const Place place(member, "writes", j);
        if (!check_known(build, write.texture, place, error)) return false;
        const auto& texture = build.textures[at(write.texture)];
        if (given.has(key(write.texture))) {
            return refuse(error, "the pass writes '{}', an input or a constant", {texture.name}, place);
        }
        if (write.layer >= texture.layers) {
            return refuse(error, "'{}' has no layer {}", {texture.name, write.layer}, place);
        }
        const auto is_draw = !gpu_pass.is_compute;
        const auto is_alone = is_draw || !is_none(build.required.wgsl);
        const auto layer = (is_alone && texture.is_array) ? any_layer : write.layer;
        if (slots.has(key(texture.slot, layer))) {
            return refuse(error, "the pass reads what it writes: '{}' in slot {}", {texture.name, texture.slot}, place);
        }
        if (!check_lifetime(texture, index, place, error)) return false;
        if (!gpu_pass.is_compute) {
            const auto [width, height] = gpu_pass.viewport;
            if ((width > texture.width) || (height > texture.height)) {
                return refuse(error, "the viewport is larger than '{}'", {texture.name}, member, "viewport");
            }
        }
        layers.add(key(write.texture, write.layer));
        written.add(key(write.texture, write.layer));
    }
    if (length(layers) < length(gpu_pass.writes)) {
        return refuse(error, "the pass writes a layer twice", {}, member, "writes");
    }
    return true;
}

bool check_slots(const Schedule& build, Set& outputs, Error& error) {
    const auto items = by_slot(build);
    for (std::size_t i = 1; i < items.size(); ++i) {
        const auto &before = *items[i - 1], &after = *items[i];
        if (before.slot != after.slot) {
            continue;
        }
        const auto is_same = (after.is_array == before.is_array) && (after.format == before.format);
        if (!(is_same && (after.width == before.width) && (after.height == before.height))) {
            return refuse(error, "'{}' and '{}' share slot {} but differ in kind, format or size", {before.name, after.name, after.slot}, "textures");
        }
        if (after.first <= before.last) {
            return refuse(error, "'{}' and '{}' share slot {} but their lifetimes overlap", {before.name, after.name, after.slot}, "textures");
        }
        if (!check_shared(before, outputs, error)) return false;
        if (!check_shared(after, outputs, error)) return false;
    }
    return true;
}

bool check_shared(const Texture& texture, Set& outputs, Error& error) {
    if (!is_none(texture.data) || outputs.has(key(texture.name))) {
        return refuse(error, "slot {} is shared, but '{}' is a constant or an output", {texture.slot, texture.name}, "textures");
    }
    return true;
}

bool check_requirements(const Schedule& build, Error& error) {
    if (is_none(build.required.wgsl) && !(build.required.glsl >= 300)) {
        return refuse(error, "glsl or wgsl is required", {}, "requires");
    }
    if (!is_none(build.required.wgsl)) {
        if (!check_wgsl(build, error)) return false;
    } else if (build.required.glsl < 310) {
        if (any(build.buffers, [&](const auto& buffer) { return buffer.is_storage; })) {
            return refuse(error, "storage buffers need glsl 310", {}, "requires.glsl");
        }
        if (any(build.passes, [&](const auto& gpu_pass) { return gpu_pass.is_compute || (gpu_pass.barriers != 0) || any(gpu_pass.reads, [&](const auto& read) { return read.is_image(); }); })) {
            return refuse(error, "compute passes, images and barriers need glsl 310", {}, "requires.glsl");
        }
    }
    for (const auto& texture : build.textures) {
        if (texture.is_external && is_none(build.required.extensions)) {
            return refuse(error, "external textures need an extension", {}, "requires.extensions");
        }
    }
    for (const auto& gpu_pass : build.passes) {
        for (const auto& write : gpu_pass.writes) {
            const auto& texture = build.textures[at(write.texture)];
            if (texture.format->bits() > build.required.color_bits()) {
                return refuse(error, "color_buffer does not allow format {}, which a pass writes", {texture.format->name}, "requires.color_buffer");
            }
        }
    }
    return true;
}

bool check_wgsl(const Schedule& build, Error& error) {
    if (build.required.glsl >= 300) {
        return refuse(error, "shaders are GLSL ES or WGSL, not both", {}, "requires.glsl");
    }
    for (const auto& gpu_pass : build.passes) {
        if ((gpu_pass.barriers != 0) || any(gpu_pass.reads, [&](const auto& read) { return read.is_image(); })) {
            return refuse(error, "WebGPU has no barriers, and shaders read no images", {}, "requires.wgsl");
        }
    }
    return true;
}

bool check_limits(const Schedule& build, Error& error) {
    Limits used{};
    for (const auto& texture : build.textures) {
        most(used, texture_size, std::max<std::int64_t>(texture.width, texture.height));
        if (texture.is_array || !is_none(build.required.wgsl)) {
            most(used, array_texture_layers, texture.layers);
        }
    }
    for (const auto& buffer : build.buffers) {
        const auto kind = buffer.is_storage ? storage_block_size : uniform_block_size;
        most(used, kind, buffer.range.size);
    }
    for (const auto& gpu_pass : build.passes) {
        const auto images = count(gpu_pass.reads, [&](const auto& read) { return read.is_image(); });
        const auto samplers = length(gpu_pass.reads) - images;
        const auto storage = count(gpu_pass.blocks, [&](const auto& block) { return build.buffers[at(block.buffer)].is_storage; });
        const auto uniform = length(gpu_pass.blocks) - storage;
        if (gpu_pass.is_compute) {
            most(used, compute_texture_units, samplers);
            most(used, compute_images, images + 1);
            most(used, compute_uniform_blocks, uniform);
            most(used, workgroup_invocations, prod(gpu_pass.workgroup));
            for (const auto& count : gpu_pass.groups) {
                most(used, workgroup_count, count);
            }
        } else {
            most(used, texture_units, samplers);
            most(used, fragment_images, images);
            most(used, uniform_blocks, uniform);
            most(used, storage_blocks, storage);
            most(used, draw_buffers, length(gpu_pass.writes));
        }
    }
    for (std::size_t name = 0; name < limit_count; ++name) {
        const auto value = used[name];
        if (build.required.limits[name] < value) {
            return refuse(error, "the stated limit is {}, the passes use {}", {build.required.limits[name], value}, "requires.limits", limit_name(name));
        }
    }
    return true;
}

}  // namespace shadergen::rules
