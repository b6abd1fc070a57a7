#include "pixels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "text.hpp"

namespace shadergen {

namespace {

constexpr double exact_integers = 1 << 24;  // up to here a float32 holds every integer

// Elements along the last axis of a tensor: the first one's place in the host's array and in
// texels, and how far it is from each to the next.
struct Run {
    std::int64_t count = 0, from = 0, from_step = 0, to = 0, to_step = 0;
};

// All runs of a tensor in the order of its logical axes, in texels of so many components.
class Runs {
public:
    Runs(const Port& port, const Texture& texture, std::int64_t components)
        : texture_(texture), components_(components) {
        const auto rank = port.shape.size();
        axes_ = texture.is_planes ? 4 : std::max<std::size_t>(rank, 1);  // planes are of N, C, H, W
        for (std::size_t i = 0; i < axes_; ++i) size_[i] = 1;
        std::int64_t step = 1;
        for (std::size_t i = rank; i-- > 0;) {
            const std::size_t axis = axes_ - rank + static_cast<std::size_t>(port.axes[i]);
            size_[axis] = port.shape[i], stride_[axis] = step;
            step *= port.shape[i];
        }
    }

    bool next(Run& run) {
        if (done_) return false;
        const std::size_t last = axes_ - 1;
        const std::int64_t row = texture_.texels_of_row();
        run = {size_[last], 0, stride_[last], row_++ * row * components_, 1};
        for (std::size_t i = 0; i < last; ++i) run.from += place_[i] * stride_[i];
        if (texture_.is_planes) {
            const std::int64_t layer = place_[0] * row + place_[1] / lanes;
            const std::int64_t first = (layer * size_[2] + place_[2]) * size_[3];
            run.to = first * components_ + place_[1] % lanes, run.to_step = components_;
        }
        std::size_t axis = last;
        while (axis > 0 && ++place_[axis - 1] == size_[axis - 1]) place_[--axis] = 0;
        done_ = axis == 0;
        return true;
    }

private:
    const Texture& texture_;
    std::int64_t components_, row_ = 0;
    std::size_t axes_;
    std::int64_t size_[max_rank], stride_[max_rank] = {}, place_[max_rank] = {};
    bool done_ = false;
};

template <class T>
T element(const void* data, std::size_t i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
    return value;
}

// What lies beyond 2^53 is refused anyway, so a double is exact enough for all.
double number(DType type, const void* data, std::size_t i) {
    switch (type) {
        case DType::float32: return static_cast<double>(element<float>(data, i));
        case DType::int64: return static_cast<double>(element<std::int64_t>(data, i));
        case DType::int32: return element<std::int32_t>(data, i);
        case DType::int16: return element<std::int16_t>(data, i);
        case DType::int8: return element<std::int8_t>(data, i);
        case DType::uint64: return static_cast<double>(element<std::uint64_t>(data, i));
        case DType::uint32: return element<std::uint32_t>(data, i);
        case DType::uint16: return element<std::uint16_t>(data, i);
        case DType::uint8: return element<std::uint8_t>(data, i);
        case DType::boolean: return element<std::uint8_t>(data, i) != 0;
    }
    return 0;
}

template <class T>
void put(void* data, std::size_t i, T value) {
    std::memcpy(static_cast<char*>(data) + i * sizeof(T), &value, sizeof(T));
}

void put_number(DType type, void* data, std::size_t i, float value) {
    // beyond a type's range a conversion is undefined in C++: what is no number becomes 0
    const double wide = std::isnan(value) ? 0.0 : static_cast<double>(value);
    const auto whole = static_cast<std::int64_t>(wide < -9e18 ? -9e18 : wide > 9e18 ? 9e18 : wide);
    switch (type) {
        case DType::float32: return put(data, i, value);
        case DType::int64:
        case DType::uint64: return put(data, i, whole);
        case DType::int32:
        case DType::uint32: return put(data, i, static_cast<std::uint32_t>(whole));
        case DType::int16:
        case DType::uint16: return put(data, i, static_cast<std::uint16_t>(whole));
        case DType::int8:
        case DType::uint8: return put(data, i, static_cast<std::uint8_t>(whole));
        case DType::boolean: return put(data, i, static_cast<std::uint8_t>(value != 0.0F));
    }
}

// The nearest half, ties to even; beyond its range infinity.
std::uint16_t half(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
    if (size >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);
    if (size < 0x33000001) return static_cast<std::uint16_t>(sign);  // at most half of the least
    std::uint32_t result, rest, middle;
    if (size < 0x38800000) {  // a denormal: its bits in units of 2^-24
        const std::uint32_t shift = 126 - (size >> 23);
        const std::uint32_t digits = (size & 0x7FFFFF) | 0x800000;
        result = digits >> shift;
        rest = digits & ((1U << shift) - 1), middle = 1U << (shift - 1);
    } else {
        result = (size - 0x38000000) >> 13;
        rest = size & 0x1FFF, middle = 0x1000;
    }
    if (rest > middle || (rest == middle && (result & 1))) ++result;
    return static_cast<std::uint16_t>(sign | result);
}

struct Span {
    double low = HUGE_VAL, high = -HUGE_VAL;
    bool numbers = true, fractions = false, truths = true;
};

Span span_of(DType type, const void* data, std::size_t count) {
    Span span;
    for (std::size_t i = 0; i < count; ++i) {
        const double value = number(type, data, i);
        span.numbers = span.numbers && !std::isnan(value);
        span.fractions = span.fractions || value != std::floor(value);
        span.truths = span.truths && (value == 0 || value == 1);
        if (value < span.low) span.low = value;
        if (value > span.high) span.high = value;
    }
    return span;
}

bool check_image(DType type, const Span& span, Error& error) {
    if (type == DType::uint8) return true;
    if (type == DType::float32 && span.numbers && span.low >= 0 && span.high <= 1) return true;
    error.supported = "uint8 from 0 to 255, or floats from 0 to 1";
    if (type != DType::float32)
        return fail(error, "SG0605", "an image cannot be given as {}",
                    {name_of(type)});
    error.help = "divide by 255, or convert to uint8";
    return fail(error, "SG0605", "an image given in floats holds values outside 0 to 1", {});
}

bool check_values(const Port& port, const Texture& texture, const Span& span, Error& error) {
    if (port.has_range && (!span.numbers || span.low < port.low || span.high > port.high)) {
        tell(error.why, "the build's 16-bit floats are for inputs from {} to {}",
             {port.low, port.high});
        error.help = "compile with a wider --input-range, or with --precision highp";
        return fail(error, "SG0605", "input '{}' holds values from {} to {}",
                    {port.name, span.low, span.high});
    }
    if (port.dtype != DType::float32) {
        if (span.fractions || !span.numbers)
            return fail(error, "SG0605", "input '{}' is of type {}, the array holds fractions",
                        {port.name, name_of(port.dtype)});
        if (port.dtype == DType::boolean && !span.truths)
            return fail(error, "SG0605",
                        "input '{}' is of type bool, the array holds other values than 0 and 1",
                        {port.name});
        if (span.high > exact_integers || span.low < -exact_integers) {
            tell(error.why, "shaders hold integers exactly up to {}", {exact_integers});
            return fail(error, "SG0605", "the array holds integers from {} to {}",
                        {span.low, span.high});
        }
    }
    constexpr double largest_half = 65504, rounded_to_infinity = 65520;
    const double most = std::max(-span.low, span.high);
    if (texture.format->texel != Texel::halves || !std::isfinite(most) ||
        most < rounded_to_infinity)
        return true;
    tell(error.why, "the limit is {}", {largest_half});
    return fail(error, "SG0605", "the array holds {}, too large for {}",
                {most, texture.format->name});
}

}  // namespace

bool encode(const Port& port, const Texture& texture, DType type, const void* data,
            List<char>& texels, Error& error) {
    const auto count = static_cast<std::size_t>(prod(port.shape));
    const Span span = span_of(type, data, count);
    if (port.encoding == Encoding::unorm8 ? !check_image(type, span, error)
                                          : !check_values(port, texture, span, error))
        return false;
    texels.resize(static_cast<std::size_t>(texture.bytes()));
    char* const to = texels.begin();
    const double scale = type == DType::uint8 ? 1 : 255;  // of bytes
    Runs runs(port, texture, texture.format->components);
    for (Run run; runs.next(run);)
        for (std::int64_t i = 0; i < run.count; ++i) {
            const auto from = static_cast<std::size_t>(run.from + i * run.from_step);
            const auto at = static_cast<std::size_t>(run.to + i * run.to_step);
            const double value = number(type, data, from);
            switch (texture.format->texel) {
                case Texel::bytes:
                    put(to, at, static_cast<std::uint8_t>(std::nearbyint(value * scale)));
                    break;
                case Texel::halves: put(to, at, half(static_cast<float>(value))); break;
                case Texel::floats: put(to, at, static_cast<float>(value)); break;
            }
        }
    return true;
}

void decode(const Port& port, const Texture& texture, const float* texels, DType type, void* data) {
    const bool sum = port.encoding == Encoding::y2rg;
    const bool difference = port.encoding == Encoding::y2rg_half;
    const bool bytes = port.encoding == Encoding::unorm8 && type == DType::uint8;
    const bool whole = port.dtype != DType::float32;
    Runs runs(port, texture, lanes);
    for (Run run; runs.next(run);)
        for (std::int64_t i = 0; i < run.count; ++i) {
            const float* const texel = texels + run.to + i * run.to_step;
            float value = *texel;
            if (sum) value += texel[1];
            if (difference) value -= texel[1];
            if (bytes) value = static_cast<float>(std::nearbyint(double{value * 255.0F}));
            if (whole) value = std::trunc(value);  // as numpy converts
            put_number(type, data, static_cast<std::size_t>(run.from + i * run.from_step), value);
        }
}

}  // namespace shadergen
