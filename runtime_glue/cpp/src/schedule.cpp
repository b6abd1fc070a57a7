#include "schedule.hpp"

#include <algorithm>

#include "form.hpp"
#include "text.hpp"

namespace shadergen {

const char* const limit_names[limit_count] = {
    "texture_size",           "array_texture_layers", "texture_units",         "draw_buffers",
    "uniform_block_size",     "uniform_blocks",       "storage_block_size",    "storage_blocks",
    "fragment_images",        "compute_images",       "compute_texture_units",
    "compute_uniform_blocks", "workgroup_invocations", "workgroup_count"};

const char* const dtype_names[] = {"float32", "int64",  "int32",  "int16", "int8",
                                   "uint64",  "uint32", "uint16", "uint8", "bool"};
const char* const encoding_names[] = {"float", "unorm8", "y2rg", "y2rg_half"};

const Format* format_of(std::string_view name) {
    static constexpr Format formats[] = {
        {"r8", 1, Texel::bytes, 0x8229, false},      {"rg8", 2, Texel::bytes, 0x822B, false},
        {"rgba8", 4, Texel::bytes, 0x8058, true},    {"r16f", 1, Texel::halves, 0x822D, false},
        {"rg16f", 2, Texel::halves, 0x822F, false},  {"rgba16f", 4, Texel::halves, 0x881A, true},
        {"r32f", 1, Texel::floats, 0x822E, true},    {"rg32f", 2, Texel::floats, 0x8230, false},
        {"rgba32f", 4, Texel::floats, 0x8814, true},
    };
    for (const Format& format : formats)
        if (name == format.name) return &format;
    return nullptr;
}

std::int64_t Port::elements() const {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) {
        const std::int64_t size = shape[static_cast<std::size_t>(i)];
        product = product > most / size ? most : product * size;
    }
    return product;
}

std::array<std::int64_t, max_rank> Port::logical() const {
    std::array<std::int64_t, max_rank> logical{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i)
        logical[static_cast<std::size_t>(axes[i])] = shape[i];
    return logical;
}

bool Uniform::operator==(const Uniform& other) const {
    if (type != other.type) return false;
    for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].whole != other.value[i].whole) return false;
    return true;
}

bool Schedule::uses_images(const Pass& pass) const {
    return pass.compute || std::any_of(pass.reads.begin(), pass.reads.end(),
                                       [](const Read& read) { return read.is_image(); });
}

const Shader* Source::shader(std::string_view path) const {
    const auto found =
        std::lower_bound(shaders.begin(), shaders.end(), path,
                         [](const Shader& shader, std::string_view p) { return shader.path < p; });
    return found != shaders.end() && found->path == path ? &*found : nullptr;
}

namespace {

// Names of a list and where they stand in it.
class Names {
public:
    template <class Items>
    Error take(const Items& items, const char* member) {
        for (std::size_t i = 0; i < items.size(); ++i)
            sorted_.emplace_back(items[i].name, static_cast<std::int32_t>(i));
        std::sort(sorted_.begin(), sorted_.end());
        for (std::size_t i = 1; i < sorted_.size(); ++i)
            if (sorted_[i].first == sorted_[i - 1].first)
                return malformed({"the name ", quote(sorted_[i].first), " is taken"},
                                 say({member, "[", sorted_[i].second, "].name"}));
        return {};
    }
    std::int32_t operator[](std::string_view name) const {
        const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(name, none));
        return found != sorted_.end() && found->first == name ? found->second : none;
    }

private:
    std::vector<std::pair<std::string_view, std::int32_t>> sorted_;
};

// Turns a document of right form into objects.
class Builder {
public:
    Builder(const Sizes& sizes, Schedule& schedule) : sizes_(sizes), schedule_(schedule) {}

    Error build(Value root) {
        schedule_.model = root["model"].text();
        const Value weights = root["weights"];
        schedule_.weights = {weights["file"].text(), weights["sha256"].text(),
                             weights["size"].integer()};
        read_requires(root["requires"]);
        each(root["textures"], [&](Value v) { schedule_.textures.push_back(texture(v)); });
        each(root["buffers"], [&](Value v) {
            schedule_.buffers.push_back({v["name"].text(), v["kind"].text() == "storage", range(v)});
        });
        Error error = textures_.take(schedule_.textures, "textures");
        if (!error) error = buffers_.take(schedule_.buffers, "buffers");
        if (error) return error;
        each(root["inputs"], [&](Value v) { schedule_.inputs.push_back(port(v)); });
        each(root["outputs"], [&](Value v) { schedule_.outputs.push_back(port(v)); });
        each(root["passes"], [&](Value v) { schedule_.passes.push_back(pass(v)); });
        return {};
    }

private:
    template <class Use>
    static void each(Value list, Use use) {
        Value item = list.first();
        for (std::uint32_t i = 0; i < list.size(); ++i, item = item.next()) use(item);
    }
    template <class To>
    To whole(Value value) const {
        return static_cast<To>(sizes_(value));
    }
    template <class To, std::size_t N>
    int wholes(Value list, std::array<To, N>& to) const {
        int count = 0;
        each(list, [&](Value v) { to[static_cast<std::size_t>(count++)] = whole<To>(v); });
        return count;
    }
    static std::uint8_t index_of(std::string_view word, const char* const* words) {
        std::uint8_t i = 0;
        while (word != words[i]) ++i;  // the form has been checked
        return i;
    }
    static Range range(Value v) { return {v["offset"].integer(), v["size"].integer()}; }

    void read_requires(Value v) const {
        static const char* const color_buffers[] = {"none", "half_float", "float"};
        Requires& required = schedule_.required;
        required.glsl = whole<int>(v["glsl"]);
        required.color_buffer =
            static_cast<ColorBuffer>(index_of(v["color_buffer"].text(), color_buffers));
        for (std::size_t i = 0; i < limit_count; ++i)
            required.limits[i] = sizes_(v["limits"][limit_names[i]]);
    }

    Texture texture(Value v) const {
        Texture t;
        t.name = v["name"].text();
        t.format = format_of(v["format"].text());
        t.is_array = v["kind"].text() == "array";
        t.planes = v["packing"].text() == "planes";
        t.width = sizes_(v["width"]), t.height = sizes_(v["height"]);
        t.layers = sizes_(v["layers"]);
        t.channels = sizes_(v["channels"]), t.batch = sizes_(v["batch"]);
        t.slot = v["slot"].is(Json::null) ? none : whole<std::int32_t>(v["slot"]);
        t.first = whole<std::int32_t>(v["first"]), t.last = whole<std::int32_t>(v["last"]);
        t.has_data = !v["data"].is(Json::null);
        if (t.has_data) t.data = range(v["data"]);
        return t;
    }

    Port port(Value v) const {
        Port p;
        p.name = v["name"].text(), p.texture_name = v["texture"].text();
        p.texture = textures_[p.texture_name];
        p.rank = wholes(v["shape"], p.shape);
        p.axes_count = wholes(v["axes"], p.axes);
        p.encoding = static_cast<Encoding>(index_of(v["encoding"].text(), encoding_names));
        p.dtype = static_cast<DType>(index_of(v["dtype"].text(), dtype_names));
        const Value span = v["range"];  // outputs have none
        p.has_range = span.is(Json::array);
        if (p.has_range) p.low = span.first().real(), p.high = span.first().next().real();
        return p;
    }

    Read read(Value v) const {
        Read r;
        r.texture_name = v["texture"].text(), r.texture = textures_[r.texture_name];
        if (const Value uniform = v["uniform"]) r.uniform = uniform.text();
        if (const Value image = v["image"]) r.image = whole<std::int32_t>(image);
        if (const Value layer = v["layer"]) r.layer = whole<std::int32_t>(layer);
        if (const Value span = v["layers"]) {
            r.first = whole<std::int32_t>(span.first());
            r.layers = whole<std::int32_t>(span.first().next());
        }
        return r;
    }

    Uniform uniform(Value v) const {
        static const char* const types[] = {"int", "ivec2", "float", "vec4"};
        Uniform u;
        u.name = v["name"].text();
        u.type = static_cast<UniformType>(index_of(v["type"].text(), types));
        const bool integers = u.type == UniformType::int_ || u.type == UniformType::ivec2;
        std::size_t i = 0;
        each(v["value"], [&](Value number) {
            if (integers) u.value[i++].whole = whole<std::int32_t>(number);
            else u.value[i++].real = static_cast<float>(number.real());
        });
        return u;
    }

    Pass pass(Value v) const {
        Pass p;
        p.name = v["name"].text();
        p.compute = v["stage"].text() == "compute";
        p.shader = v["shader"].text();
        p.layers = v["layers"];
        each(v["reads"], [&](Value r) { p.reads.push_back(read(r)); });
        each(v["blocks"], [&](Value b) {
            const std::string_view buffer = b["buffer"].text();
            p.blocks.push_back({b["block"].text(), buffer, buffers_[buffer]});
        });
        each(v["uniforms"], [&](Value u) { p.uniforms.push_back(uniform(u)); });
        each(v["writes"], [&](Value w) {
            const std::string_view name = w["texture"].text();
            p.writes.push_back({name, textures_[name], whole<std::int32_t>(w["layer"])});
        });
        each(v["barriers"], [&](Value b) {
            const std::string_view name = b.text();
            p.barriers |= name == "texture" ? texture_barrier
                          : name == "image" ? image_barrier
                                            : framebuffer_barrier;
        });
        if (p.compute) {
            p.image = whole<std::int32_t>(v["image"]);
            wholes(v["workgroup"], p.workgroup);
            wholes(v["groups"], p.groups);
        } else {
            p.vertex = v["vertex"].text();
            wholes(v["viewport"], p.viewport);
        }
        return p;
    }

    const Sizes& sizes_;
    Schedule& schedule_;
    Names textures_, buffers_;
};

}  // namespace

Error read_schedule(const Source& source, const Sizes& sizes, Schedule& schedule) {
    const Value root = source.document.root();
    Error error;
    if (const Value open = root["sizes"]) error = sizes.check(open);
    if (!error) error = check_form(root, sizes, source.lenient);
    if (!error) error = Builder(sizes, schedule).build(root);
    if (!error) error = check(schedule);
    schedule.sizes = sizes;
    return error;
}

Error resize_schedule(const Source& source, const Sizes& sizes, Schedule& schedule) {
    const Error error = read_schedule(source, sizes, schedule);
    if (!error || error.code == "SG0605") return error;
    Error refused = sizes.refused();
    for (const std::string& place : error.where) refused.why += place + ": ";
    refused.why += error.what;
    return refused;
}

}  // namespace shadergen
