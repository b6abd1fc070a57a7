#include "schedule.hpp"

#include <algorithm>

#include "form.hpp"
#include "text.hpp"

namespace shadergen {

namespace {

// Tables of characters: pointers would have to be relocated when a program starts.
constexpr char dtype_names[][8] = {"float32", "int64",  "int32",  "int16", "int8",
                                   "uint64",  "uint32", "uint16", "uint8", "bool"};
constexpr char encoding_names[][10] = {"float", "unorm8", "y2rg", "y2rg_half"};

}  // namespace

const char* name_of(DType dtype) { return dtype_names[static_cast<int>(dtype)]; }
const char* name_of(Encoding encoding) { return encoding_names[static_cast<int>(encoding)]; }

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

std::int64_t prod(const std::int64_t* first, const std::int64_t* last) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    std::int64_t product = 1;
    for (; first != last; ++first) product = product > most / *first ? most : product * *first;
    return product;
}

Shape logical_shape(const Shape& host, const Shape& axes) {
    Shape logical;
    for (const std::int64_t axis : axes)
        logical.items[static_cast<std::size_t>(axis)] = host[logical.rank++];
    return logical;
}

std::array<std::int64_t, 4> as_map(const Shape& shape) {
    std::array<std::int64_t, 4> map = {1, 1, 1, 1};
    std::copy(shape.begin(), shape.end(), map.end() - shape.size());
    return map;
}

bool Uniform::operator==(const Uniform& other) const {
    if (type != other.type) return false;
    for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].whole != other.value[i].whole) return false;
    return true;
}

bool Pass::uses_images() const {
    bool images = is_compute;
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
    Ref add(std::string_view name) {
        const Ref ref = {name, static_cast<std::int32_t>(sorted_.size())};
        sorted_.push_back(ref);
        return ref;
    }
    // Once all are there: `list` is what they name.
    bool close(const char* list, Error& error) {
        sort(sorted_);
        for (std::size_t i = 1; i < sorted_.size(); ++i)
            if (!sorted_[i].compare(sorted_[i - 1]))
                return malformed(error, "the name '{}' is taken", {sorted_[i]},
                                 say("{}[{}].name", {list, sorted_[i].index}));
        return true;
    }
    Ref operator[](std::string_view name) const {
        Ref ref = {name};
        const std::size_t found = position(sorted_, ref);
        if (found < sorted_.size() && !ref.compare(sorted_[found])) ref.index = sorted_[found].index;
        return ref;
    }

private:
    List<Ref> sorted_;
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
            texture.name = textures_.add(v.text("name"));
        }
        for (const Value v : root["buffers"]) {
            Buffer& buffer = schedule_.buffers.add();
            buffer.name = buffers_.add(v.text("name"));
            buffer.is_storage = same(v.text("kind"), "storage");
            buffer.range = range(v);
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
    void wholes(Value list, std::int64_t* to) const {
        for (const Value v : list) *to++ = sizes_(v);
    }
    void read(Value list, Shape& to) const {
        wholes(list, to.items.data());
        to.rank = list.size();
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
        if (v["glsl"]) required.glsl = small(v, "glsl");
        if (const Value wgsl = v["wgsl"]) required.wgsl = wgsl.text();
        required.color_buffer =
            static_cast<ColorBuffer>(index_of(v.text("color_buffer"), color_buffers));
        if (const Value used = v["extensions"])
            required.extensions = used.first().text();  // there is only one
        for (std::size_t i = 0; i < limit_count; ++i)
            required.limits[i] = sizes_(v["limits"][limit_name(i)]);
    }

    void read(Value v, Texture& t) const {
        t.format = format_of(v.text("format"));
        t.is_array = same(v.text("kind"), "array");
        t.is_external = same(v.text("kind"), "external");
        t.is_planes = same(v.text("packing"), "planes");
        t.width = number(v, "width"), t.height = number(v, "height");
        t.layers = number(v, "layers");
        t.channels = number(v, "channels"), t.batch = number(v, "batch");
        t.slot = v["slot"].is(Json::null) ? none : small(v, "slot");
        t.first = small(v, "first"), t.last = small(v, "last");
        t.has_data = !v["data"].is(Json::null);
        if (t.has_data) t.data = range(v["data"]);
    }

    void read(Value v, Port& p) const {
        p.name = v.text("name"), p.texture = textures_[v.text("texture")];
        read(v["shape"], p.shape), read(v["axes"], p.axes);
        p.encoding = static_cast<Encoding>(index_of(v.text("encoding"), encoding_names));
        p.dtype = static_cast<DType>(index_of(v.text("dtype"), dtype_names));
        const Value span = v["range"];  // outputs have none
        p.has_range = span.is(Json::array);
        if (p.has_range) p.low = span.first().real(), p.high = span.first().next().real();
    }

    void read(Value v, Read& r) const {
        r.texture = textures_[v.text("texture")];
        if (const Value uniform = v["uniform"]) r.uniform = uniform.text();
        if (const Value matrix = v["matrix"]) r.matrix = matrix.text();
        if (const Value image = v["image"]) r.image = small(image);
        if (const Value layer = v["layer"]) r.layer = small(layer);
        if (const Value span = v["layers"])
            r.layers = {small(span.first()), small(span.first().next())};
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
        p.is_compute = same(v.text("stage"), "compute");
        p.shader = v.text("shader");
        p.layers = v["layers"], p.macs = v["macs"], p.bytes = v["bytes"];
        for (const Value r : v["reads"]) read(r, p.reads.add());
        for (const Value b : v["blocks"]) {
            Block& block = p.blocks.add();
            block.block = b.text("block"), block.buffer = buffers_[b.text("buffer")];
        }
        for (const Value u : v["uniforms"]) read(u, p.uniforms.add());
        for (const Value w : v["writes"]) {
            Write& write = p.writes.add();
            write.texture = textures_[w.text("texture")];
            write.layer = small(w, "layer");
        }
        for (const Value b : v["barriers"]) {
            const std::string_view name = b.text();
            p.barriers |= same(name, "texture") ? texture_barrier
                          : same(name, "image") ? image_barrier
                                                : framebuffer_barrier;
        }
        if (p.is_compute) {
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
           Builder(sizes, schedule).build(root, error) && rules::check(schedule, schedule.weights.size, error);
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
