#include "schedule.hpp"

#include <algorithm>

#include "form.hpp"
#include "text.hpp"

namespace shadergen {

const char dtype_names[10][8] = {"float32", "int64",  "int32",  "int16", "int8",
                                 "uint64",  "uint32", "uint16", "uint8", "bool"};
const char encoding_names[4][10] = {"float", "unorm8", "y2rg", "y2rg_half"};

const Format* format_of(std::string_view name) {
    static constexpr Format formats[] = {
        {"r8", 1, Texel::bytes, 0x8229, false},      {"rg8", 2, Texel::bytes, 0x822B, false},
        {"rgba8", 4, Texel::bytes, 0x8058, true},    {"r16f", 1, Texel::halves, 0x822D, false},
        {"rg16f", 2, Texel::halves, 0x822F, false},  {"rgba16f", 4, Texel::halves, 0x881A, true},
        {"r32f", 1, Texel::floats, 0x822E, true},    {"rg32f", 2, Texel::floats, 0x8230, false},
        {"rgba32f", 4, Texel::floats, 0x8814, true},
    };
    for (const Format& format : formats)
        if (same(name, format.name)) return &format;
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

bool Pass::uses_images() const {
    bool images = compute;
    for (const Read& read : reads) images = images || read.is_image();
    return images;
}

const Shader* Source::shader(std::string_view path) const {
    const std::size_t found = position(shaders, Shader{path, {}});
    return found < shaders.size() && shaders[found].path == path ? &shaders[found] : nullptr;
}

namespace {

// Names of a list and where they stand in it.
class Names {
public:
    void add(std::string_view name) {
        sorted_.push_back({name, static_cast<std::int32_t>(sorted_.size())});
    }
    // Once all are there: `list` is what they name.
    bool close(const char* list, Error& error) {
        sort(sorted_);
        const std::size_t twice = repeated(sorted_);
        if (twice == sorted_.size()) return true;
        return malformed(error, "the name '{}' is taken", {sorted_[twice].name},
                         say("{}[{}].name", {list, taken(sorted_[twice].name)}));
    }
    std::int32_t operator[](std::string_view name) const {
        const std::size_t found = position(sorted_, Named{name, none});
        return found < sorted_.size() && sorted_[found].name == name ? sorted_[found].index : none;
    }

private:
    struct Named {
        std::string_view name;
        std::int32_t index;

        bool operator<(const Named& other) const { return name < other.name; }
    };

    // The second of those that have a name.
    std::int32_t taken(std::string_view name) const {
        std::int32_t first = INT32_MAX, second = INT32_MAX;
        for (const Named& named : sorted_) {
            if (named.name != name) continue;
            second = std::min(second, std::max(first, named.index));
            first = std::min(first, named.index);
        }
        return second;
    }

    List<Named> sorted_;
};

// Turns a document of right form into objects.
class Builder {
public:
    Builder(const Sizes& sizes, Schedule& schedule) : sizes_(sizes), schedule_(schedule) {}

    bool build(Value root, Error& error) {
        schedule_.model = root.text("model");
        const Value weights = root["weights"];
        schedule_.weights = {weights.text("file"), weights.text("sha256"), weights.integer("size")};
        read_requires(root["requires"]);
        for (const Value v : root["textures"]) {
            Texture& texture = schedule_.textures.add();
            read(v, texture);
            textures_.add(texture.name);
        }
        for (const Value v : root["buffers"]) {
            Buffer& buffer = schedule_.buffers.add();
            buffer.name = v.text("name");
            buffer.storage = same(v.text("kind"), "storage");
            buffer.range = range(v);
            buffers_.add(buffer.name);
        }
        if (!textures_.close("textures", error) || !buffers_.close("buffers", error)) return false;
        for (const Value v : root["inputs"]) read(v, schedule_.inputs.add());
        for (const Value v : root["outputs"]) read(v, schedule_.outputs.add());
        for (const Value v : root["passes"]) read(v, schedule_.passes.add());
        return true;
    }

private:
    std::int64_t number(Value v, const char* member) const { return sizes_(v[member]); }
    std::int32_t small(Value v, const char* member) const {
        return static_cast<std::int32_t>(number(v, member));
    }
    std::int32_t small(Value value) const { return static_cast<std::int32_t>(sizes_(value)); }
    int wholes(Value list, std::int64_t* to) const {
        int count = 0;
        for (const Value v : list) to[count++] = sizes_(v);
        return count;
    }
    template <std::size_t N, std::size_t Longest>
    static std::uint8_t index_of(std::string_view word, const char (&words)[N][Longest]) {
        std::uint8_t i = 0;
        while (i + 1U < N && !same(word, words[i])) ++i;  // it is one of them
        return i;
    }
    static Range range(Value v) { return {v.integer("offset"), v.integer("size")}; }

    void read_requires(Value v) const {
        static constexpr char color_buffers[][11] = {"none", "half_float", "float"};
        Requires& required = schedule_.required;
        required.glsl = small(v, "glsl");
        required.color_buffer =
            static_cast<ColorBuffer>(index_of(v.text("color_buffer"), color_buffers));
        required.external = static_cast<bool>(v["extensions"]);  // there is only one
        for (std::size_t i = 0; i < limit_count; ++i)
            required.limits[i] = sizes_(v["limits"][limit_name(i)]);
    }

    void read(Value v, Texture& t) const {
        t.name = v.text("name");
        t.format = format_of(v.text("format"));
        t.is_array = same(v.text("kind"), "array");
        t.is_external = same(v.text("kind"), "external");
        t.planes = same(v.text("packing"), "planes");
        t.width = number(v, "width"), t.height = number(v, "height");
        t.layers = number(v, "layers");
        t.channels = number(v, "channels"), t.batch = number(v, "batch");
        t.slot = v["slot"].is(Json::null) ? none : small(v, "slot");
        t.first = small(v, "first"), t.last = small(v, "last");
        t.has_data = !v["data"].is(Json::null);
        if (t.has_data) t.data = range(v["data"]);
    }

    void read(Value v, Port& p) const {
        p.name = v.text("name"), p.texture_name = v.text("texture");
        p.texture = textures_[p.texture_name];
        p.rank = wholes(v["shape"], p.shape.data());
        p.axes_count = wholes(v["axes"], p.axes.data());
        p.encoding = static_cast<Encoding>(index_of(v.text("encoding"), encoding_names));
        p.dtype = static_cast<DType>(index_of(v.text("dtype"), dtype_names));
        const Value span = v["range"];  // outputs have none
        p.has_range = span.is(Json::array);
        if (p.has_range) p.low = span.first().real(), p.high = span.first().next().real();
    }

    void read(Value v, Read& r) const {
        r.texture_name = v.text("texture"), r.texture = textures_[r.texture_name];
        if (const Value uniform = v["uniform"]) r.uniform = uniform.text();
        if (const Value matrix = v["matrix"]) r.matrix = matrix.text();
        if (const Value image = v["image"]) r.image = small(image);
        if (const Value layer = v["layer"]) r.layer = small(layer);
        if (const Value span = v["layers"]) {
            r.first = small(span.first());
            r.layers = small(span.first().next());
        }
    }

    void read(Value v, Uniform& u) const {
        static constexpr char types[][6] = {"int", "ivec2", "float", "vec4"};
        u.name = v.text("name");
        u.type = static_cast<UniformType>(index_of(v.text("type"), types));
        const bool integers = u.type == UniformType::int_ || u.type == UniformType::ivec2;
        std::size_t i = 0;
        for (const Value number : v["value"]) {
            if (integers) u.value[i++].whole = small(number);
            else u.value[i++].real = static_cast<float>(number.real());
        }
    }

    void read(Value v, Pass& p) const {
        p.name = v.text("name");
        p.compute = same(v.text("stage"), "compute");
        p.shader = v.text("shader");
        p.layers = v["layers"];
        for (const Value r : v["reads"]) read(r, p.reads.add());
        for (const Value b : v["blocks"]) {
            Block& block = p.blocks.add();
            block.name = b.text("block"), block.buffer_name = b.text("buffer");
            block.buffer = buffers_[block.buffer_name];
        }
        for (const Value u : v["uniforms"]) read(u, p.uniforms.add());
        for (const Value w : v["writes"]) {
            Write& write = p.writes.add();
            write.texture_name = w.text("texture");
            write.texture = textures_[write.texture_name];
            write.layer = small(w, "layer");
        }
        for (const Value b : v["barriers"]) {
            const std::string_view name = b.text();
            p.barriers |= same(name, "texture") ? texture_barrier
                          : same(name, "image") ? image_barrier
                                                : framebuffer_barrier;
        }
        if (p.compute) {
            p.image = small(v, "image");
            wholes(v["workgroup"], p.workgroup.data());
            wholes(v["groups"], p.groups.data());
        } else {
            p.vertex = v.text("vertex");
            wholes(v["viewport"], p.viewport.data());
        }
    }

    const Sizes& sizes_;
    Schedule& schedule_;
    Names textures_, buffers_;
};

}  // namespace

bool read_schedule(const Source& source, const Sizes& sizes, Schedule& schedule, Error& error) {
    const Value root = source.document.root();
    schedule.sizes = sizes;
    const Value open = root["sizes"];
    return (!open || sizes.check(open, error)) && check_form(root, sizes, source.lenient, error) &&
           Builder(sizes, schedule).build(root, error) && check(schedule, error);
}

bool resize_schedule(const Source& source, const Sizes& sizes, Schedule& schedule, Error& error) {
    if (read_schedule(source, sizes, schedule, error)) return true;
    if (same(error.code, "SG0605")) return false;
    std::string why;
    for (const std::string& place : error.where) tell(why, "{}: ", {place});
    why += error.what;
    error.where.clear();
    return sizes.refuse(why, error);
}

}  // namespace shadergen
