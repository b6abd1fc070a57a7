// How the parts of a schedule refer to each other: the rules a JSON Schema cannot state. Each rule is
// a sentence of docs/schedule.md, and each refusal an SG0503 that names the member.

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
        if (index != none_at) words += say({"[", index, "]"});
        if (inner) words += say({".", inner});
        if (at != none_at) words += say({"[", at, "]"});
        if (rest) words += say({".", rest});
        return words;
    }
};

std::string list_of(const std::int64_t* values, int count) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) text += say({i ? ", " : "", values[i]});
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
        return check_ports("inputs", schedule_.inputs) && check_ports("outputs", schedule_.outputs) &&
               check_inputs() && check_passes() && check_outputs() && check_slots() &&
               check_requirements();
    }

    Error error;

private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    const Texture& texture(std::int32_t index) const { return schedule_.textures[at(index)]; }

    bool refuse(Pieces what, const Place& place) {
        error = malformed(what, place.text());
        return false;
    }

    bool check_range(const Range& range, const Place& member) {
        const std::int64_t size = schedule_.weights.size;
        if (range.offset + range.size <= size) return true;
        return refuse({"the bytes ", range.offset, " to ", range.offset + range.size,
                           " lie outside the weights file of ", size, " bytes"},
                      member);
    }

    bool check_texture(std::size_t index) {
        const Texture& t = schedule_.textures[index];
        const Place member = {"textures", index};
        if (t.bytes() > max_texture_bytes)
            return refuse({"a texture of ", t.bytes(), " bytes is beyond all devices"}, member);
        if (t.first > t.last)
            return refuse({"it is used first in pass ", t.first, ", last in ", t.last}, member);
        if (t.has_data) {
            if (is_input_[index]) return refuse({"an input cannot have data"}, member.in("data"));
            if (!check_range(t.data, member.in("data"))) return false;
            if (t.data.size == t.bytes()) return true;
            return refuse({"its texels take ", t.bytes(), " bytes, its data has ", t.data.size},
                          member.in("data"));
        }
        const std::int64_t planes = t.texels_of_row();
        const std::int64_t taken = t.batch * planes;
        const std::int64_t room = t.width * t.height * t.layers;
        if (!t.planes && taken > room)
            return refuse({t.batch, " rows of ", t.channels, " take ", taken, " texels, there are ",
                               room},
                          member.in("batch"));
        if (t.planes && t.layers != taken)
            return refuse({t.batch, " x ", t.channels, " channels take ", taken, " layers, not ",
                               t.layers},
                          member.in("layers"));
        if (t.format->components < std::min<std::int64_t>(t.channels, lanes))
            return refuse({t.channels, " channels do not fit ", t.format->name},
                          member.in("format"));
        if (is_input_[index] != (t.slot == none))
            return refuse({"inputs, and no others, have the slot null"}, member.in("slot"));
        return true;
    }

    bool check_ports(const char* list, const std::vector<Port>& ports) {
        for (std::size_t i = 0; i < ports.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j)
                if (ports[j].name == ports[i].name)
                    return refuse({"the name ", quote(ports[i].name), " is taken"},
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
            return refuse({"the axes ", list_of(axes.data(), port.axes_count),
                               " do not permute the shape's"},
                          member.in("axes"));
        }
        const auto shape = port.logical();
        const bool is_signed = port.encoding == Encoding::y2rg || port.encoding == Encoding::y2rg_half;
        if (t.planes) {
            if (!check_planes(shape, port.rank, t, is_signed, member)) return false;
        } else {
            const std::int64_t row = port.rank ? shape[at(port.rank - 1)] : 1;
            if (port.elements() != t.batch * t.channels || row != t.channels)
                return refuse({"the shape ", list_of(shape.data(), port.rank), " does not fit ",
                                   t.batch, " rows of ", t.channels},
                              member.in("shape"));
        }
        const char* encoding = encoding_names[static_cast<int>(port.encoding)];
        if (port.dtype != DType::float32 && port.encoding != Encoding::plain)
            return refuse({"the encoding ", encoding, " holds no ",
                               dtype_names[static_cast<int>(port.dtype)]},
                          member.in("dtype"));
        const bool bytes = t.format->texel == Texel::bytes;
        if (port.encoding == Encoding::unorm8 && !bytes)
            return refuse({"the encoding unorm8 needs an 8-bit texture, not ", t.format->name},
                          member);
        if ((port.encoding == Encoding::plain || port.encoding == Encoding::y2rg) && bytes)
            return refuse({"the encoding ", encoding, " needs a float texture"}, member);
        if (is_signed && t.format->components < 2)
            return refuse({"the encoding ", encoding, " needs two channels, not ",
                               t.format->name},
                          member);
        return true;
    }

    bool check_planes(const std::array<std::int64_t, max_rank>& shape, int rank, const Texture& t,
                      bool is_signed, const Place& member) {
        if (rank > map_rank)
            return refuse({"planes hold up to ", map_rank, " axes, not ", rank},
                          member.in("shape"));
        std::int64_t map[map_rank] = {1, 1, 1, 1};
        for (int i = 0; i < rank; ++i) map[map_rank - rank + i] = shape[at(i)];
        const auto [n, c, h, w] = map;
        const bool channels = is_signed ? c == 1 && t.channels <= 2 : c == t.channels;
        if (channels && n == t.batch && h == t.height && w == t.width) return true;
        return refuse({"N, C, H, W of ", n, ", ", c, ", ", h, ", ", w,
                           " do not fit a texture of ", t.batch, ", ", t.channels, ", ", t.height,
                           ", ", t.width},
                      member.in("shape"));
    }

    bool no_texture(std::string_view name, const Place& member) {
        return refuse({"there is no texture ", quote(name)}, member);
    }

    bool check_inputs() {
        std::vector<std::int32_t> used;
        for (const Port& port : schedule_.inputs) used.push_back(port.texture);
        std::sort(used.begin(), used.end());
        return std::adjacent_find(used.begin(), used.end()) == used.end() ||
               refuse({"two inputs share a texture"}, "inputs");
    }

    // --- passes, in their order ---

    bool holds(std::int32_t index, std::int32_t layer) const {
        return given(index) || written_[first_layer_[at(index)] + at(layer)];
    }
    bool given(std::int32_t index) const {
        return texture(index).has_data || is_input_[at(index)];
    }

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
                return refuse({quote(t.name), " has no 2D texture ", read.layer, " to read"}, place);
            if (read.layer == none && !t.is_array && t.layers > 1)
                return refuse({quote(t.name), " has ", t.layers, " 2D textures: name a layer"},
                              place);
            std::int32_t low = read.layer == none ? 0 : read.layer;
            std::int32_t high = read.layer == none ? static_cast<std::int32_t>(t.layers) : low + 1;
            if (read.layers) {
                low = read.first, high = read.first + read.layers;
                if (!t.is_array || high > t.layers)
                    return refuse({quote(t.name), " is no array with layer ", high - 1},
                                  place.in("layers"));
            }
            for (std::int32_t layer = low; layer < high; ++layer) {
                if (!holds(read.texture, layer))
                    return refuse({"layer ", layer, " of ", quote(t.name),
                                       " is read before it is written"},
                                  place);
                if (t.slot != none) read_.emplace_back(t.slot, layer);
            }
            if (t.slot != none) read_.emplace_back(t.slot, none);  // of any layer
            if (!check_lifetime(t, index, place)) return false;
        }
        std::sort(read_.begin(), read_.end());
        return true;
    }

    bool check_lifetime(const Texture& t, std::size_t index, const Place& place) {
        const auto pass = static_cast<std::int32_t>(index);
        if (t.first <= pass && pass <= t.last) return true;
        return refuse({"pass ", pass, " uses ", quote(t.name), " outside its lifetime, ", t.first,
                           " to ", t.last},
                      place);
    }

    static bool repeats(std::vector<std::string_view> names) {
        std::sort(names.begin(), names.end());
        return std::adjacent_find(names.begin(), names.end()) != names.end();
    }

    bool check_blocks(const Pass& pass, const Place& member) {
        std::vector<std::string_view> names;
        for (std::size_t j = 0; j < pass.blocks.size(); ++j) {
            if (pass.blocks[j].buffer == none)
                return refuse({"there is no buffer ", quote(pass.blocks[j].buffer_name)},
                              member.in("blocks", j));
            names.push_back(pass.blocks[j].name);
        }
        return !repeats(names) || refuse({"a block is given twice"}, member.in("blocks"));
    }

    bool check_uniforms(const Pass& pass, const Place& member) {
        std::vector<std::string_view> names;
        for (const Uniform& uniform : pass.uniforms) names.push_back(uniform.name);
        for (const Read& read : pass.reads)
            if (!read.is_image()) names.push_back(read.uniform);
        return !repeats(names) || refuse({"a uniform is given twice"}, member);
    }

    bool check_images(const Pass& pass, const Place& member) {
        std::vector<std::int32_t> units, images;
        for (const Read& read : pass.reads) {
            if (!read.is_image()) continue;
            if (is_input_[at(read.texture)])
                return refuse({quote(read.texture_name),
                                   " is an input, which may have no images"},
                              member.in("reads"));
            units.push_back(read.image), images.push_back(read.texture);
        }
        if (pass.compute) {
            const Place place = member.in("writes");
            units.push_back(pass.image);
            for (const Write& write : pass.writes) {
                if (write.texture_name != pass.writes[0].texture_name)
                    return refuse({"a compute pass writes one texture"}, place);
                if (write.texture == none) return no_texture(write.texture_name, place);
            }
            const Texture& t = texture(pass.writes[0].texture);
            if (pass.writes.size() > 1 && !t.is_array)
                return refuse({"an image is one layer of ", quote(t.name)}, place);
            images.push_back(pass.writes[0].texture);
        }
        std::sort(units.begin(), units.end());
        if (std::adjacent_find(units.begin(), units.end()) != units.end())
            return refuse({"an image unit is given twice"}, member);
        for (const std::int32_t image : images)
            if (!texture(image).format->image)
                return refuse({quote(texture(image).name), " is ", texture(image).format->name,
                                   ", of which there are no images"},
                              member);
        return true;
    }

    bool check_writes(const Pass& pass, std::size_t index, const Place& member) {
        std::vector<std::pair<std::int32_t, std::int32_t>> writes;
        for (std::size_t j = 0; j < pass.writes.size(); ++j) {
            const Write& write = pass.writes[j];
            const Place place = member.in("writes", j);
            if (write.texture == none) return no_texture(write.texture_name, place);
            const Texture& t = texture(write.texture);
            if (given(write.texture))
                return refuse({quote(t.name), " is an input or a constant"}, place);
            if (write.layer >= t.layers)
                return refuse({quote(t.name), " has no layer ", write.layer}, place);
            // a draw may not even sample other layers of what it draws to
            const std::pair<std::int32_t, std::int32_t> use(t.slot, pass.compute ? write.layer : none);
            if (std::binary_search(read_.begin(), read_.end(), use))
                return refuse({"it reads what it writes: ", quote(t.name), " in slot ", t.slot},
                              place);
            if (!check_lifetime(t, index, place)) return false;
            if (!pass.compute && (pass.viewport[0] > t.width || pass.viewport[1] > t.height))
                return refuse({"the viewport is larger than ", quote(t.name)},
                              member.in("viewport"));
            writes.emplace_back(write.texture, write.layer);
        }
        std::sort(writes.begin(), writes.end());
        if (std::adjacent_find(writes.begin(), writes.end()) != writes.end())
            return refuse({"it writes a layer twice"}, member.in("writes"));
        for (const auto& [index_, layer] : writes) written_[first_layer_[at(index_)] + at(layer)] = true;
        return true;
    }

    bool check_outputs() {
        for (const Port& port : schedule_.outputs)
            for (std::int32_t layer = 0; layer < texture(port.texture).layers; ++layer)
                if (!written_[first_layer_[at(port.texture)] + at(layer)])
                    return refuse({"no GPU pass writes layer ", layer, " of the output ",
                                       quote(port.texture_name)},
                                  "outputs");
        return true;
    }

    bool check_slots() {
        std::vector<std::int32_t> order;
        for (std::size_t i = 0; i < schedule_.textures.size(); ++i)
            if (schedule_.textures[i].slot != none) order.push_back(static_cast<std::int32_t>(i));
        std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            const Texture &left = texture(a), &right = texture(b);
            if (left.slot != right.slot) return left.slot < right.slot;
            return left.first != right.first ? left.first < right.first : a < b;
        });
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Texture &before = texture(order[i - 1]), &after = texture(order[i]);
            if (before.slot != after.slot) continue;
            if (after.is_array != before.is_array || after.format != before.format ||
                after.width != before.width || after.height != before.height)
                return clash(before, after, " and differ in kind, format or size");
            if (after.first <= before.last) return clash(before, after, " and are alive together");
            for (const std::int32_t index : {order[i - 1], order[i]})
                if (texture(index).has_data || is_output_[at(index)])
                    return clash(before, after, ", and an output or a constant may not share");
        }
        return true;
    }

    bool clash(const Texture& before, const Texture& after, const char* how) {
        error = malformed({"they share slot ", after.slot, how},
                          say({"textures ", quote(before.name), " and ", quote(after.name)}));
        return false;
    }

    // The stated requirements must cover what the schedule does.
    bool check_requirements() {
        const Requires& required = schedule_.required;
        if (required.glsl < 310) {
            for (const Buffer& buffer : schedule_.buffers)
                if (buffer.storage) return refuse({"storage buffers need glsl 310"}, "requires.glsl");
            for (const Pass& pass : schedule_.passes)
                if (schedule_.uses_images(pass) || pass.barriers)
                    return refuse({"compute passes, images and barriers need glsl 310"},
                                  "requires.glsl");
        }
        const auto used = largest_use();
        for (std::size_t i = 0; i < limit_count; ++i)
            if (required.limits[i] < used[i])
                return refuse({"it is stated as ", required.limits[i], ", and ", used[i],
                                   " is used"},
                              Place("requires").in("limits").in(limit_names[i]));
        for (const Pass& pass : schedule_.passes)
            for (const Write& write : pass.writes) {
                const Format& format = *texture(write.texture).format;
                if (static_cast<int>(format.texel) > static_cast<int>(required.color_buffer))
                    return refuse({format.name, " is drawn to"}, "requires.color_buffer");
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
    std::vector<bool> is_input_, is_output_, written_;
    std::vector<std::size_t> first_layer_;
    std::vector<std::pair<std::int32_t, std::int32_t>> read_;  // slot and layer, or any
};

}  // namespace

Error check(const Schedule& schedule) {
    Checks checks(schedule);
    checks.all();
    return checks.error;
}

}  // namespace shadergen
