// The schedule as C++ objects: what docs/schedule.md lists, its names resolved to indices.

#ifndef SHADERGEN_SCHEDULE_HPP
#define SHADERGEN_SCHEDULE_HPP

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "document.hpp"
#include "schema.hpp"
#include "shadergen/shadergen.hpp"
#include "sizes.hpp"

namespace shadergen {

constexpr int lanes = 4;
constexpr std::int32_t none = -1;

const char* limit_name(std::size_t limit);
using Limits = std::array<std::int64_t, limit_count>;

// The name of a texture or buffer, and where that stands in the schedule's list.
struct Ref : std::string_view {
    std::int32_t index = none;

    bool operator==(const Ref& other) const { return index == other.index; }
    bool operator!=(const Ref& other) const { return index != other.index; }
    bool operator<(const Ref& other) const {
        const int order = compare(other);
        return order ? order < 0 : index < other.index;
    }
};
inline std::size_t at(const Ref& ref) { return static_cast<std::size_t>(ref.index); }

enum class ColorBuffer : std::uint8_t { bytes, half_float, floats };

struct Requires {
    int glsl = 0;           // or 0 if the shaders are WGSL
    std::string_view wgsl;  // or nothing
    ColorBuffer color_buffer = ColorBuffer::bytes;
    std::string_view extensions;  // the one that reads external textures, or nothing
    Limits limits{};

    int color_bits() const { return 8 << static_cast<int>(color_buffer); }
};

enum class Texel : std::uint8_t { bytes, halves, floats };

struct Format {
    char name[8];
    int components;
    Texel texel;
    std::uint32_t internal;  // GL's name
    bool image;              // whether shaders see it as an image too
    int bytes() const { return components << static_cast<int>(texel); }
    int bits() const { return 8 << static_cast<int>(texel); }  // of a component
};
const Format* format_of(std::string_view name);

struct Range {
    std::int64_t offset = 0, size = 0;
};

struct Texture {
    Ref name;
    const Format* format = nullptr;
    bool is_array = false, is_external = false, is_planes = true, has_data = false;
    std::int64_t width = 0, height = 0, layers = 0, channels = 0, batch = 0;
    std::int32_t slot = none, first = 0, last = 0;
    Range data;

    std::int64_t objects() const { return is_array ? 1 : layers; }
    std::int64_t bytes() const { return width * height * layers * format->bytes(); }
    std::int64_t texels_of_row() const { return (channels + lanes - 1) / lanes; }
};

constexpr std::size_t max_rank = 8;

// Sizes or axes of a tensor.
struct Shape {
    std::array<std::int64_t, max_rank> items{};
    std::size_t rank = 0;

    std::size_t size() const { return rank; }
    const std::int64_t* begin() const { return items.data(); }
    const std::int64_t* end() const { return begin() + rank; }
    std::int64_t operator[](std::size_t i) const { return items[i]; }
};

// host = logical.transpose(axes)
Shape logical_shape(const Shape& host, const Shape& axes);
// N, C, H, W, padded with ones on the left.
std::array<std::int64_t, 4> as_map(const Shape& shape);
std::int64_t prod(const std::int64_t* first, const std::int64_t* last);  // cut at 2^62
template <class Sizes>
std::int64_t prod(const Sizes& sizes) {
    return prod(&*sizes.begin(), &*sizes.begin() + sizes.size());
}

struct Port {
    std::string_view name;
    Ref texture;
    Shape shape, axes;
    Encoding encoding = Encoding::plain;
    DType dtype = DType::float32;
    bool has_range = false;
    double low = 0, high = 0;
};
const char* name_of(DType dtype);
const char* name_of(Encoding encoding);

struct Buffer {
    Ref name;
    bool is_storage = false;
    Range range;
};

// A texture bound to a sampler, or to an image unit.
struct Read {
    std::string_view uniform;  // empty for an image
    std::string_view matrix;   // the uniform of an external texture's matrix
    Ref texture;
    std::int32_t image = 0, layer = none;
    std::array<std::int32_t, 2> layers = {none, 0};  // the first of an array and how many, or all

    bool is_image() const { return uniform.empty(); }
};

struct Write {
    Ref texture;
    std::int32_t layer = 0;
};

struct Block {
    std::string_view block;
    Ref buffer;
};

enum class UniformType : std::uint8_t { int_, ivec2, float_, vec4 };

struct Uniform {
    std::string_view name;
    UniformType type = UniformType::int_;
    union Number {
        std::int32_t whole;
        float real;
    };
    std::array<Number, 4> value{};

    bool operator==(const Uniform& other) const;
};

constexpr unsigned texture_barrier = 1, image_barrier = 2, framebuffer_barrier = 4;

struct Pass {
    std::string_view name;
    bool is_compute = false;
    std::string_view vertex, shader;  // paths
    Value layers, macs, bytes;  // of the document
    List<Read> reads;
    List<Block> blocks;
    List<Uniform> uniforms;
    List<Write> writes;
    unsigned barriers = 0;
    std::int32_t image = 0;
    std::array<std::int64_t, 2> viewport{};
    std::array<std::int64_t, 3> workgroup{}, groups{};

    bool uses_images() const;
};

struct Weights {
    std::string_view file, sha256;
    std::int64_t size = 0;
};

struct Schedule {
    Sizes sizes;
    std::string_view model;
    Requires required;
    List<Port> inputs, outputs;
    List<Texture> textures;
    List<Buffer> buffers;
    List<Pass> passes;
    Weights weights;
};

struct Shader {
    std::string_view path, text;

    bool operator<(const Shader& other) const { return path < other.path; }
};

// What a build consists of before sizes are chosen: all that its schedule points into.
struct Source {
    std::string place;    // its folder, for messages
    std::string variant;  // its name; empty for the generic build
    Document document;
    bool lenient = false;
    List<List<char>> owned;  // what was read from files
    List<Shader> shaders;    // sorted by path
    std::string_view weights;

    const Shader* shader(std::string_view path) const;
};

// Work out a document of right version at sizes, and check all of it. SG0503, or SG0605 where the
// sizes break a constraint.
bool read_schedule(const Source& source, const Sizes& sizes, Schedule& schedule, Error& error);
// The same of a build that is right at its defaults: whatever is wrong is that of the sizes.
// SG0605.
bool resize_schedule(const Source& source, const Sizes& sizes, Schedule& schedule, Error& error);

// Refuse a schedule whose parts do not fit each other. SG0503.
namespace rules {
bool check(const Schedule& build, std::int64_t weights_size, Error& error);
}

}  // namespace shadergen

#endif
