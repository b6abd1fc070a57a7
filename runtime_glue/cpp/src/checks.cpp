// How the parts of a schedule refer to each other: the rules a JSON Schema cannot state. Each rule
// is a sentence of docs/schedule.md, and each refusal an SG0503 that names the member.

#include <algorithm>
#include <string>

#include "schedule.hpp"
#include "text.hpp"

namespace shadergen {

namespace {

constexpr std::int64_t max_texture_bytes = std::int64_t{1} << 33;
constexpr int map_rank = 4;  // N, C, H, W

// A member of the schedule: `list[index].inner[at].rest`, put into words when it is wrong.
struct Place {
    const char* list;
    std::size_t index = none_at;
    const char* inner = nullptr;
    std::size_t at = none_at;
    const char* rest = nullptr;

    static constexpr std::size_t none_at = SIZE_MAX;

    Place(const char* list_) : list(list_) {}
    Place(const char* list_, std::size_t index_) : list(list_), index(index_) {}
    Place in(const char* member, std::size_t at_ = none_at) const {
        Place place = *this;
        (inner ? place.rest : place.inner) = member;
        if (!inner) place.at = at_;
        return place;
    }
    std::string text() const {
        std::string words = list;
        if (index != none_at) words += say("[{}]", {index});
        if (inner) words += say(".{}", {inner});
        if (at != none_at) words += say("[{}]", {at});
        if (rest) words += say(".{}", {rest});
        return words;
    }
};

std::string list_of(const std::int64_t* values, int count) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) text += say("{}{}", {i ? ", " : "", values[i]});
    return text + "]";
}

class Checks {
public:
    explicit Checks(const Schedule& schedule) : schedule_(schedule) {}

    bool all() {
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
        return check_ports("inputs", schedule_.inputs) &&
               check_ports("outputs", schedule_.outputs) && check_inputs() && check_passes() &&
               check_outputs() && check_slots() && check_requirements();
    }

    Error error;

private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    const Texture& texture(std::int32_t index) const { return schedule_.textures[at(index)]; }

    // A slot or texture and a layer, or none, as one number.
    static std::int64_t key(std::int32_t slot, std::int32_t layer) {
        return std::int64_t{slot} * (1 << 16) + layer;
    }

    bool refuse(const char* what, Words words, const Place& place) {
        error = malformed(what, words, place.text());
        return false;
    }

    bool check_range(const Range& range, const Place& member) {
        const std::int64_t size = schedule_.weights.size;
        if (range.offset + range.size <= size) return true;
        return refuse("the bytes {} to {} lie outside the weights file of {} bytes",
                      {range.offset, range.offset + range.size, size}, member);
    }

    bool check_texture(std::size_t index) {
        const Texture& t = schedule_.textures[index];
        const Place member = {"textures", index};
        if (t.bytes() > max_texture_bytes)
            return refuse("a texture of {} bytes is beyond all devices", {t.bytes()}, member);
        if (t.first > t.last)
            return refuse("it is used first in pass {}, last in {}", {t.first, t.last}, member);
        if (t.has_data) {
            if (is_input_[index]) return refuse("an input cannot have data", {}, member.in("data"));
            if (!check_range(t.data, member.in("data"))) return false;
            if (t.data.size == t.bytes()) return true;
            return refuse("its texels take {} bytes, its data has {}", {t.bytes(), t.data.size},
                          member.in("data"));
        }
        const std::int64_t planes = t.texels_of_row();
        const std::int64_t taken = t.batch * planes;
        const std::int64_t room = t.width * t.height * t.layers;
        if (!t.planes && taken > room)
            return refuse("{} rows of {} take {} texels, there are {}",
                          {t.batch, t.channels, taken, room}, member.in("batch"));
        if (t.planes && t.layers != taken)
            return refuse("{} x {} channels take {} layers, not {}",
                          {t.batch, t.channels, taken, t.layers}, member.in("layers"));
        if (t.format->components < std::min<std::int64_t>(t.channels, lanes))
            return refuse("{} channels do not fit {}", {t.channels, t.format->name},
                          member.in("format"));
        if (is_input_[index] != (t.slot == none))
            return refuse("inputs, and no others, have the slot null", {}, member.in("slot"));
        return true;
    }

    bool check_ports(const char* list, const List<Port>& ports) {
        for (std::size_t i = 0; i < ports.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j)
                if (ports[j].name == ports[i].name)
                    return refuse("the name '{}' is taken", {ports[i].name},
                                  Place(list, i).in("name"));
            if (!check_port(ports[i], {list, i})) return false;
        }
        return true;
    }

    bool check_port(const Port& port, const Place& member) {
        if (port.texture == none) return no_texture(port.texture_name, member.in("texture"));
        const Texture& t = texture(port.texture);
        unsigned seen = 0;  // the form has made sure that none is given twice
        for (int i = 0; i < port.axes_count; ++i) seen |= 1U << port.axes[at(i)];
        if (port.axes_count != port.rank || seen != (1U << port.rank) - 1U) {
            std::array<std::int64_t, max_rank> axes{};
            std::copy(port.axes.begin(), port.axes.end(), axes.begin());
            return refuse("the axes {} do not permute the shape's",
                          {list_of(axes.data(), port.axes_count)}, member.in("axes"));
        }
        const auto shape = port.logical();
        const bool is_signed =
            port.encoding == Encoding::y2rg || port.encoding == Encoding::y2rg_half;
        if (t.planes) {
            if (!check_planes(shape, port.rank, t, is_signed, member)) return false;
        } else {
            const std::int64_t row = port.rank ? shape[at(port.rank - 1)] : 1;
            if (port.elements() != t.batch * t.channels || row != t.channels)
                return refuse("the shape {} does not fit {} rows of {}",
                              {list_of(shape.data(), port.rank), t.batch, t.channels},
                              member.in("shape"));
        }
        const char* encoding = encoding_names[static_cast<int>(port.encoding)];
        if (port.dtype != DType::float32 && port.encoding != Encoding::plain)
            return refuse("the encoding {} holds no {}",
                          {encoding, dtype_names[static_cast<int>(port.dtype)]},
                          member.in("dtype"));
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

    bool check_planes(const std::array<std::int64_t, max_rank>& shape, int rank, const Texture& t,
                      bool is_signed, const Place& member) {
        if (rank > map_rank)
            return refuse("planes hold up to {} axes, not {}", {map_rank, rank},
                          member.in("shape"));
        std::int64_t map[map_rank] = {1, 1, 1, 1};
        for (int i = 0; i < rank; ++i) map[map_rank - rank + i] = shape[at(i)];
        const auto [n, c, h, w] = map;
        const bool channels = is_signed ? c == 1 && t.channels <= 2 : c == t.channels;
        if (channels && n == t.batch && h == t.height && w == t.width) return true;
        return refuse("N, C, H, W of {}, {}, {}, {} do not fit a texture of {}, {}, {}, {}",
                      {n, c, h, w, t.batch, t.channels, t.height, t.width}, member.in("shape"));
    }

    bool no_texture(std::string_view name, const Place& member) {
        return refuse("there is no texture '{}'", {name}, member);
    }

    bool check_inputs() {
        List<std::int32_t> used;
        for (const Port& port : schedule_.inputs) used.push_back(port.texture);
        sort(used);
        return repeated(used) == used.size() || refuse("two inputs share a texture", {}, "inputs");
    }

    // --- passes, in their order ---

    bool holds(std::int32_t index, std::int32_t layer) const {
        return given(index) || written_[first_layer_[at(index)] + at(layer)];
    }
    bool given(std::int32_t index) const { return texture(index).has_data || is_input_[at(index)]; }

    bool check_passes() {
        std::size_t layers = 0;
        for (const Texture& t : schedule_.textures) {
            first_layer_.push_back(layers);
            layers += static_cast<std::size_t>(t.layers);
        }
        written_.resize(layers);
        for (std::size_t i = 0; i < schedule_.passes.size(); ++i) {
            const Pass& pass = schedule_.passes[i];
            const Place member = {"passes", i};
            read_.clear();
            if (!check_reads(pass, i, member) || !check_blocks(pass, member) ||
                !check_uniforms(pass, member) || !check_images(pass, member) ||
                !check_writes(pass, i, member))
                return false;
        }
        return true;
    }

    bool check_reads(const Pass& pass, std::size_t index, const Place& member) {
        for (std::size_t j = 0; j < pass.reads.size(); ++j) {
            const Read& read = pass.reads[j];
            const Place place = member.in("reads", j);
            if (read.texture == none) return no_texture(read.texture_name, place);
            const Texture& t = texture(read.texture);
            if (read.layer != none && (t.is_array || read.layer >= t.layers))
                return refuse("'{}' has no 2D texture {} to read", {t.name, read.layer}, place);
            if (read.layer == none && !t.is_array && t.layers > 1)
                return refuse("'{}' has {} 2D textures: name a layer", {t.name, t.layers}, place);
            std::int32_t low = read.layer == none ? 0 : read.layer;
            std::int32_t high = read.layer == none ? static_cast<std::int32_t>(t.layers) : low + 1;
            if (read.layers) {
                low = read.first, high = read.first + read.layers;
                if (!t.is_array || high > t.layers)
                    return refuse("'{}' is no array with layer {}", {t.name, high - 1},
                                  place.in("layers"));
            }
            for (std::int32_t layer = low; layer < high; ++layer) {
                if (!holds(read.texture, layer))
                    return refuse("layer {} of '{}' is read before it is written", {layer, t.name},
                                  place);
                if (t.slot != none) read_.push_back(key(t.slot, layer));
            }
            if (t.slot != none) read_.push_back(key(t.slot, none));  // of any layer
            if (!check_lifetime(t, index, place)) return false;
        }
        sort(read_);
        return true;
    }

    bool check_lifetime(const Texture& t, std::size_t index, const Place& place) {
        const auto pass = static_cast<std::int32_t>(index);
        if (t.first <= pass && pass <= t.last) return true;
        return refuse("pass {} uses '{}' outside its lifetime, {} to {}",
                      {pass, t.name, t.first, t.last}, place);
    }

    static bool repeats(List<std::string_view> names) {
        sort(names);
        return repeated(names) < names.size();
    }

    bool check_blocks(const Pass& pass, const Place& member) {
        List<std::string_view> names;
        for (std::size_t j = 0; j < pass.blocks.size(); ++j) {
            if (pass.blocks[j].buffer == none)
                return refuse("there is no buffer '{}'", {pass.blocks[j].buffer_name},
                              member.in("blocks", j));
            names.push_back(pass.blocks[j].name);
        }
        return !repeats(names) || refuse("a block is given twice", {}, member.in("blocks"));
    }

    bool check_uniforms(const Pass& pass, const Place& member) {
        List<std::string_view> names;
        for (const Uniform& uniform : pass.uniforms) names.push_back(uniform.name);
        for (const Read& read : pass.reads)
            if (!read.is_image()) names.push_back(read.uniform);
        return !repeats(names) || refuse("a uniform is given twice", {}, member);
    }

    bool check_images(const Pass& pass, const Place& member) {
        List<std::int32_t> units, images;
        for (const Read& read : pass.reads) {
            if (!read.is_image()) continue;
            if (is_input_[at(read.texture)])
                return refuse("'{}' is an input, which may have no images", {read.texture_name},
                              member.in("reads"));
            units.push_back(read.image), images.push_back(read.texture);
        }
        if (pass.compute) {
            const Place place = member.in("writes");
            units.push_back(pass.image);
            for (const Write& write : pass.writes) {
                if (write.texture_name != pass.writes[0].texture_name)
                    return refuse("a compute pass writes one texture", {}, place);
                if (write.texture == none) return no_texture(write.texture_name, place);
            }
            const Texture& t = texture(pass.writes[0].texture);
            if (pass.writes.size() > 1 && !t.is_array)
                return refuse("an image is one layer of '{}'", {t.name}, place);
            images.push_back(pass.writes[0].texture);
        }
        sort(units);
        if (repeated(units) < units.size())
            return refuse("an image unit is given twice", {}, member);
        for (const std::int32_t image : images)
            if (!texture(image).format->image)
                return refuse("'{}' is {}, of which there are no images",
                              {texture(image).name, texture(image).format->name}, member);
        return true;
    }

    bool check_writes(const Pass& pass, std::size_t index, const Place& member) {
        List<std::int64_t> writes;
        for (std::size_t j = 0; j < pass.writes.size(); ++j) {
            const Write& write = pass.writes[j];
            const Place place = member.in("writes", j);
            if (write.texture == none) return no_texture(write.texture_name, place);
            const Texture& t = texture(write.texture);
            if (given(write.texture))
                return refuse("'{}' is an input or a constant", {t.name}, place);
            if (write.layer >= t.layers)
                return refuse("'{}' has no layer {}", {t.name, write.layer}, place);
            // a draw may not even sample other layers of what it draws to
            if (contains(read_, key(t.slot, pass.compute ? write.layer : none)))
                return refuse("it reads what it writes: '{}' in slot {}", {t.name, t.slot}, place);
            if (!check_lifetime(t, index, place)) return false;
            if (!pass.compute && (pass.viewport[0] > t.width || pass.viewport[1] > t.height))
                return refuse("the viewport is larger than '{}'", {t.name}, member.in("viewport"));
            writes.push_back(key(write.texture, write.layer));
        }
        sort(writes);
        if (repeated(writes) < writes.size())
            return refuse("it writes a layer twice", {}, member.in("writes"));
        for (const Write& write : pass.writes)
            written_[first_layer_[at(write.texture)] + at(write.layer)] = true;
        return true;
    }

    bool check_outputs() {
        for (const Port& port : schedule_.outputs)
            for (std::int32_t layer = 0; layer < texture(port.texture).layers; ++layer)
                if (!written_[first_layer_[at(port.texture)] + at(layer)])
                    return refuse("no GPU pass writes layer {} of the output '{}'",
                                  {layer, port.texture_name}, "outputs");
        return true;
    }

    struct Lifetime {
        std::int32_t slot, first, index;

        bool operator<(const Lifetime& other) const {
            if (slot != other.slot) return slot < other.slot;
            return first != other.first ? first < other.first : index < other.index;
        }
    };

    bool check_slots() {
        List<Lifetime> order;
        for (std::size_t i = 0; i < schedule_.textures.size(); ++i) {
            const Texture& t = schedule_.textures[i];
            if (t.slot != none) order.push_back({t.slot, t.first, static_cast<std::int32_t>(i)});
        }
        sort(order);
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Texture &before = texture(order[i - 1].index), &after = texture(order[i].index);
            if (before.slot != after.slot) continue;
            if (after.is_array != before.is_array || after.format != before.format ||
                after.width != before.width || after.height != before.height)
                return clash(before, after, " and differ in kind, format or size");
            if (after.first <= before.last) return clash(before, after, " and are alive together");
            for (const std::int32_t index : {order[i - 1].index, order[i].index})
                if (texture(index).has_data || is_output_[at(index)])
                    return clash(before, after, ", and an output or a constant may not share");
        }
        return true;
    }

    bool clash(const Texture& before, const Texture& after, const char* how) {
        error = malformed("they share slot {}{}", {after.slot, how},
                          say("textures '{}' and '{}'", {before.name, after.name}));
        return false;
    }

    // The stated requirements must cover what the schedule does.
    bool check_requirements() {
        const Requires& required = schedule_.required;
        if (required.glsl < 310) {
            for (const Buffer& buffer : schedule_.buffers)
                if (buffer.storage)
                    return refuse("storage buffers need glsl 310", {}, "requires.glsl");
            for (const Pass& pass : schedule_.passes)
                if (pass.uses_images() || pass.barriers)
                    return refuse("compute passes, images and barriers need glsl 310", {},
                                  "requires.glsl");
        }
        const auto used = largest_use();
        for (std::size_t i = 0; i < limit_count; ++i)
            if (required.limits[i] < used[i])
                return refuse("it is stated as {}, and {} is used", {required.limits[i], used[i]},
                              Place("requires").in("limits").in(limit_names[i]));
        for (const Pass& pass : schedule_.passes)
            for (const Write& write : pass.writes) {
                const Format& format = *texture(write.texture).format;
                if (static_cast<int>(format.texel) > static_cast<int>(required.color_buffer))
                    return refuse("{} is drawn to", {format.name}, "requires.color_buffer");
            }
        return true;
    }

    std::array<std::int64_t, limit_count> largest_use() const {
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

    const Schedule& schedule_;
    List<char> is_input_, is_output_, written_;
    List<std::size_t> first_layer_;
    List<std::int64_t> read_;  // slot and layer, or any
};

}  // namespace

Error check(const Schedule& schedule) {
    Checks checks(schedule);
    checks.all();
    return checks.error;
}

}  // namespace shadergen
