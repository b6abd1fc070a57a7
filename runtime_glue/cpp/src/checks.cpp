#include "checks.hpp"

#include <algorithm>

namespace shadergen {

namespace {

constexpr std::int64_t max_texture_bytes = std::int64_t{1} << 33;
constexpr int map_rank = 4;  // N, C, H, W

}  // namespace

bool Checks::refuse(const char* what, Words words, const Place& place, const char* inner) {
    return malformed(error_, what, words, inner ? Place(place, inner).text() : place.text());
}

bool Checks::all() {
    is_input_.resize(schedule_.textures.size());
    is_output_.resize(schedule_.textures.size());
    for (const Port& port : schedule_.inputs)
        if (port.texture != none) is_input_[at(port.texture)] = true;
    for (const Port& port : schedule_.outputs)
        if (port.texture != none) is_output_[at(port.texture)] = true;
    for (std::size_t i = 0; i < schedule_.textures.size(); ++i)
        if (!check_texture(i)) return false;
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i)
        if (!check_range(schedule_.buffers[i].range, {"buffers", i})) return false;
    return check_ports("inputs", schedule_.inputs) && check_ports("outputs", schedule_.outputs) &&
           check_inputs() && check_passes() && check_outputs() && check_slots() &&
           check_requirements();
}

bool Checks::check_range(const Range& range, const Place& member, const char* inner) {
    const std::int64_t size = schedule_.weights.size;
    if (range.offset + range.size <= size) return true;
    return refuse("the bytes {} to {} lie outside the weights file of {} bytes",
                  {range.offset, range.offset + range.size, size}, member, inner);
}

bool Checks::check_texture(std::size_t index) {
    const Texture& t = schedule_.textures[index];
    const Place member = {"textures", index};
    if (t.bytes() > max_texture_bytes)
        return refuse("a texture of {} bytes is beyond all devices", {t.bytes()}, member);
    if (t.first > t.last)
        return refuse("it is used first in pass {}, last in {}", {t.first, t.last}, member);
    const bool plain = t.layers == 1 && t.planes && t.format == format_of("rgba8");
    if (t.is_external && !(plain && is_input_[index]))
        return refuse("an external texture is an input of one layer of rgba8, in planes", {},
                      member, "kind");
    if (t.has_data) {
        if (is_input_[index]) return refuse("an input cannot have data", {}, member, "data");
        if (!check_range(t.data, member, "data")) return false;
        if (t.data.size == t.bytes()) return true;
        return refuse("its texels take {} bytes, its data has {}", {t.bytes(), t.data.size}, member,
                      "data");
    }
    const std::int64_t planes = t.texels_of_row();
    const std::int64_t taken = t.batch * planes;
    const std::int64_t room = t.width * t.height * t.layers;
    if (!t.planes && taken > room)
        return refuse("{} rows of {} take {} texels, there are {}",
                      {t.batch, t.channels, taken, room}, member, "batch");
    if (t.planes && t.layers != taken)
        return refuse("{} x {} channels take {} layers, not {}",
                      {t.batch, t.channels, taken, t.layers}, member, "layers");
    if (t.format->components < std::min<std::int64_t>(t.channels, lanes))
        return refuse("{} channels do not fit {}", {t.channels, t.format->name}, member, "format");
    if (is_input_[index] != (t.slot == none))
        return refuse("inputs, and no others, have the slot null", {}, member, "slot");
    return true;
}

bool Checks::check_ports(const char* list, const List<Port>& ports) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            if (ports[j].name == ports[i].name)
                return refuse("the name '{}' is taken", {ports[i].name}, {list, i}, "name");
        if (!check_port(ports[i], {list, i})) return false;
    }
    return true;
}

bool Checks::check_port(const Port& port, const Place& member) {
    if (port.texture == none) return no_texture(port.texture_name, member, "texture");
    const Texture& t = texture(port.texture);
    unsigned seen = 0;  // the form has made sure that none is given twice
    for (int i = 0; i < port.axes_count; ++i) seen |= 1U << port.axes[at(i)];
    if (port.axes_count != port.rank || seen != (1U << port.rank) - 1U) {
        return refuse("the axes [{}] do not permute the shape's",
                      {joined(port.axes.data(), port.axes_count, ", ")}, member, "axes");
    }
    const auto shape = port.logical();
    const bool is_signed = port.encoding == Encoding::y2rg || port.encoding == Encoding::y2rg_half;
    const char* encoding = encoding_names[static_cast<int>(port.encoding)];
    if (t.planes) {
        if (!check_planes(shape, port.rank, t, is_signed, member)) return false;
    } else if (is_signed) {
        return refuse("the encoding {} needs planes", {encoding}, member, "encoding");
    } else {
        const std::int64_t row = port.rank ? shape[at(port.rank - 1)] : 1;
        if (port.elements() != t.batch * t.channels || row != t.channels)
            return refuse("the shape [{}] does not fit {} rows of {}",
                          {joined(shape.data(), port.rank, ", "), t.batch, t.channels}, member,
                          "shape");
    }
    if (port.dtype != DType::float32 && port.encoding != Encoding::plain)
        return refuse("the encoding {} holds no {}",
                      {encoding, dtype_names[static_cast<int>(port.dtype)]}, member, "dtype");
    const bool bytes = t.format->texel == Texel::bytes;
    if (port.encoding == Encoding::unorm8 && !bytes)
        return refuse("the encoding unorm8 needs an 8-bit texture, not {}", {t.format->name},
                      member);
    if ((port.encoding == Encoding::plain || port.encoding == Encoding::y2rg) && bytes)
        return refuse("the encoding {} needs a float texture", {encoding}, member);
    if (is_signed && t.format->components < 2)
        return refuse("the encoding {} needs two channels, not {}", {encoding, t.format->name},
                      member);
    return true;
}

bool Checks::check_planes(const std::array<std::int64_t, max_rank>& shape, int rank,
                          const Texture& t, bool is_signed, const Place& member) {
    if (rank > map_rank)
        return refuse("planes hold up to {} axes, not {}", {map_rank, rank}, member, "shape");
    std::int64_t map[map_rank] = {1, 1, 1, 1};
    for (int i = 0; i < rank; ++i) map[map_rank - rank + i] = shape[at(i)];
    const auto [n, c, h, w] = map;
    const bool channels = is_signed ? c == 1 && t.channels <= 2 : c == t.channels;
    if (channels && n == t.batch && h == t.height && w == t.width) return true;
    return refuse("N, C, H, W of {}, {}, {}, {} do not fit a texture of {}, {}, {}, {}",
                  {n, c, h, w, t.batch, t.channels, t.height, t.width}, member, "shape");
}

bool Checks::no_texture(std::string_view name, const Place& member, const char* inner) {
    return refuse("there is no texture '{}'", {name}, member, inner);
}

bool Checks::check_inputs() {
    List<std::int32_t> used;
    for (const Port& port : schedule_.inputs) used.push_back(port.texture);
    sort(used);
    return repeated(used) == used.size() || refuse("two inputs share a texture", {}, "inputs");
}

// The stated requirements must cover what the schedule does.
bool Checks::check_requirements() {
    const Requires& required = schedule_.required;
    if (required.glsl < 310) {
        for (const Buffer& buffer : schedule_.buffers)
            if (buffer.storage) return refuse("storage buffers need glsl 310", {}, "requires.glsl");
        for (const Pass& pass : schedule_.passes)
            if (pass.uses_images() || pass.barriers)
                return refuse("compute passes, images and barriers need glsl 310", {},
                              "requires.glsl");
    }
    for (const Texture& t : schedule_.textures)
        if (t.is_external && !required.external)
            return refuse("external textures need an extension", {}, "requires.extensions");
    const auto used = largest_use();
    for (std::size_t i = 0; i < limit_count; ++i)
        if (required.limits[i] < used[i])
            return refuse("it is stated as {}, and {} is used", {required.limits[i], used[i]},
                          "requires.limits", limit_name(i));
    for (const Pass& pass : schedule_.passes)
        for (const Write& write : pass.writes) {
            const Format& format = *texture(write.texture).format;
            if (static_cast<int>(format.texel) > static_cast<int>(required.color_buffer))
                return refuse("{} is drawn to", {format.name}, "requires.color_buffer");
        }
    return true;
}

std::array<std::int64_t, limit_count> Checks::largest_use() const {
    std::array<std::int64_t, limit_count> used{};
    const auto most = [&](Limit limit, std::int64_t value) {
        used[limit] = std::max(used[limit], value);
    };
    for (const Texture& t : schedule_.textures) {
        most(texture_size, std::max(t.width, t.height));
        if (t.is_array) most(array_texture_layers, t.layers);
    }
    for (const Buffer& buffer : schedule_.buffers)
        most(buffer.storage ? storage_block_size : uniform_block_size, buffer.range.size);
    for (const Pass& pass : schedule_.passes) {
        std::int64_t samplers = 0, images = 0, uniform = 0, storage = 0;
        for (const Read& read : pass.reads) ++(read.is_image() ? images : samplers);
        for (const Block& block : pass.blocks)
            ++(schedule_.buffers[at(block.buffer)].storage ? storage : uniform);
        if (!pass.compute) {
            most(texture_units, samplers), most(fragment_images, images);
            most(uniform_blocks, uniform), most(storage_blocks, storage);
            most(draw_buffers, static_cast<std::int64_t>(pass.writes.size()));
            continue;
        }
        most(compute_texture_units, samplers), most(compute_images, images + 1);
        most(compute_uniform_blocks, uniform);
        const auto [x, y, z] = pass.workgroup;
        const std::int64_t plane = x * y;  // at most 2^62; the product is cut below 2^63
        most(workgroup_invocations, plane > INT64_MAX / z ? INT64_MAX : plane * z);
        most(workgroup_count, *std::max_element(pass.groups.begin(), pass.groups.end()));
    }
    return used;
}

bool check(const Schedule& schedule, Error& error) { return Checks(schedule, error).all(); }

}  // namespace shadergen
