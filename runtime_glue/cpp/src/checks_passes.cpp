// The passes in their order: what each reads is there, and nothing is in another's way.

#include "checks.hpp"

namespace shadergen {

namespace {

struct Lifetime {
    std::int32_t slot, first, index;

    bool operator<(const Lifetime& other) const {
        if (slot != other.slot) return slot < other.slot;
        return first != other.first ? first < other.first : index < other.index;
    }
};

}  // namespace

bool Checks::check_passes() {
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

bool Checks::check_reads(const Pass& pass, std::size_t index, const Place& member) {
    for (std::size_t j = 0; j < pass.reads.size(); ++j) {
        const Read& read = pass.reads[j];
        const Place place(member, "reads", j);
        if (read.texture == none) return no_texture(read.texture_name, place);
        const Texture& t = texture(read.texture);
        if (t.is_external == read.matrix.empty())
            return refuse("external textures, and no others, are read through a matrix", {}, place,
                          "matrix");
        if (read.layer != none && (t.is_array || read.layer >= t.layers))
            return refuse("'{}' has no 2D texture {} to read", {t.name, read.layer}, place);
        if (read.layer == none && !t.is_array && t.layers > 1)
            return refuse("'{}' has {} 2D textures: name a layer", {t.name, t.layers}, place);
        std::int32_t low = read.layer == none ? 0 : read.layer;
        std::int32_t high = read.layer == none ? static_cast<std::int32_t>(t.layers) : low + 1;
        if (read.layers) {
            low = read.first, high = read.first + read.layers;
            if (!t.is_array || high > t.layers)
                return refuse("'{}' is no array with layer {}", {t.name, high - 1}, place,
                              "layers");
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

bool Checks::check_lifetime(const Texture& t, std::size_t index, const Place& place) {
    const auto pass = static_cast<std::int32_t>(index);
    if (t.first <= pass && pass <= t.last) return true;
    return refuse("pass {} uses '{}' outside its lifetime, {} to {}",
                  {pass, t.name, t.first, t.last}, place);
}

bool Checks::repeats(List<std::string_view>& names) {
    sort(names);
    return repeated(names) < names.size();
}

bool Checks::check_blocks(const Pass& pass, const Place& member) {
    List<std::string_view> names;
    for (std::size_t j = 0; j < pass.blocks.size(); ++j) {
        if (pass.blocks[j].buffer == none)
            return refuse("there is no buffer '{}'", {pass.blocks[j].buffer_name},
                          Place(member, "blocks", j));
        names.push_back(pass.blocks[j].name);
    }
    return !repeats(names) || refuse("a block is given twice", {}, member, "blocks");
}

bool Checks::check_uniforms(const Pass& pass, const Place& member) {
    List<std::string_view> names;
    for (const Uniform& uniform : pass.uniforms) names.push_back(uniform.name);
    for (const Read& read : pass.reads)
        for (const std::string_view name : {read.uniform, read.matrix})
            if (!name.empty()) names.push_back(name);
    return !repeats(names) || refuse("a uniform is given twice", {}, member);
}

bool Checks::check_images(const Pass& pass, const Place& member) {
    List<std::int32_t> units, images;
    for (const Read& read : pass.reads) {
        if (!read.is_image()) continue;
        if (is_input_[at(read.texture)])
            return refuse("'{}' is an input, which may have no images", {read.texture_name}, member,
                          "reads");
        units.push_back(read.image), images.push_back(read.texture);
    }
    if (pass.compute) {
        const Place place(member, "writes");
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
    if (repeated(units) < units.size()) return refuse("an image unit is given twice", {}, member);
    for (const std::int32_t image : images)
        if (!texture(image).format->image)
            return refuse("'{}' is {}, of which there are no images",
                          {texture(image).name, texture(image).format->name}, member);
    return true;
}

bool Checks::check_writes(const Pass& pass, std::size_t index, const Place& member) {
    List<std::int64_t> writes;
    for (std::size_t j = 0; j < pass.writes.size(); ++j) {
        const Write& write = pass.writes[j];
        const Place place(member, "writes", j);
        if (write.texture == none) return no_texture(write.texture_name, place);
        const Texture& t = texture(write.texture);
        if (given(write.texture)) return refuse("'{}' is an input or a constant", {t.name}, place);
        if (write.layer >= t.layers)
            return refuse("'{}' has no layer {}", {t.name, write.layer}, place);
        // a draw may not even sample other layers of what it draws to
        if (contains(read_, key(t.slot, pass.compute ? write.layer : none)))
            return refuse("it reads what it writes: '{}' in slot {}", {t.name, t.slot}, place);
        if (!check_lifetime(t, index, place)) return false;
        if (!pass.compute && (pass.viewport[0] > t.width || pass.viewport[1] > t.height))
            return refuse("the viewport is larger than '{}'", {t.name}, member, "viewport");
        writes.push_back(key(write.texture, write.layer));
    }
    sort(writes);
    if (repeated(writes) < writes.size())
        return refuse("it writes a layer twice", {}, member, "writes");
    for (const Write& write : pass.writes)
        written_[first_layer_[at(write.texture)] + at(write.layer)] = true;
    return true;
}

bool Checks::check_outputs() {
    for (const Port& port : schedule_.outputs)
        for (std::int32_t layer = 0; layer < texture(port.texture).layers; ++layer)
            if (!written_[first_layer_[at(port.texture)] + at(layer)])
                return refuse("no GPU pass writes layer {} of the output '{}'",
                              {layer, port.texture_name}, "outputs");
    return true;
}

bool Checks::check_slots() {
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

bool Checks::clash(const Texture& before, const Texture& after, const char* how) {
    return malformed(error_, "they share slot {}{}", {after.slot, how},
                     say("textures '{}' and '{}'", {before.name, after.name}));
}

}  // namespace shadergen
