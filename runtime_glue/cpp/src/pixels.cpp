#include "pixels.hpp"

#include <cmath>
#include <cstring>

#include "text.hpp"

namespace shadergen {

namespace {

constexpr double exact_integers = 1 << 24;  // up to here a float32 holds every integer

// Call use(element, component) for each element of a tensor, in the order of texels: its place in
// the host's array, and in texels of so many components.
template <class Use>
void visit(const Port& port, const Texture& texture, std::int64_t components, Use use) {
    const int rank = port.rank;
    std::int64_t stride[max_rank] = {};  // of the host, by logical axis
    std::int64_t step = 1;
    for (int i = rank - 1; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        stride[port.axes[at]] = step;
        step *= port.shape[at];
    }
    const auto shape = port.logical();
    const std::int64_t planes = texture.texels_of_row();
    if (texture.planes) {
        std::int64_t size[4] = {1, 1, 1, 1}, host[4] = {};
        for (int i = 0; i < rank; ++i) {
            size[4 - rank + i] = shape[static_cast<std::size_t>(i)];
            host[4 - rank + i] = stride[i];
        }
        for (std::int64_t n = 0; n < size[0]; ++n)
            for (std::int64_t c = 0; c < size[1]; ++c)
                for (std::int64_t y = 0; y < size[2]; ++y) {
                    std::int64_t from = n * host[0] + c * host[1] + y * host[2];
                    const std::int64_t layer = n * planes + c / lanes;
                    std::int64_t to = (layer * size[2] + y) * size[3] * components + c % lanes;
                    for (std::int64_t x = 0; x < size[3]; ++x, from += host[3], to += components)
                        use(from, to);
                }
        return;
    }
    std::int64_t place[max_rank] = {};
    for (std::int64_t row = 0; row < texture.batch; ++row) {
        std::int64_t from = 0;
        for (int i = 0; i < rank - 1; ++i) from += place[i] * stride[i];
        for (std::int64_t i = 0; i < texture.channels; ++i) {
            const std::int64_t texel = row * planes + i / lanes;
            use(from, texel * components + i % lanes);
            from += rank ? stride[rank - 1] : 0;
        }
        for (int i = rank - 2; i >= 0 && ++place[i] == shape[static_cast<std::size_t>(i)]; --i)
            place[i] = 0;
    }
}

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

Error check_values(const Port& port, const Texture& texture, DType type, const Span& span) {
    if (port.encoding == Encoding::unorm8) {
        const char* supported = "uint8 from 0 to 255, or floats from 0 to 1";
        if (type == DType::uint8) return {};
        Error error;
        if (type != DType::float32) {
            error = error_of("SG0605", "an image cannot be given as {}",
                             {dtype_names[static_cast<int>(type)]});
        } else if (!span.numbers || span.low < 0 || span.high > 1) {
            error = error_of("SG0605", "an image given in floats holds values outside 0 to 1", {});
            error.help = "divide by 255, or convert to uint8";
        }
        if (error) error.supported = supported;
        return error;
    }
    if (port.has_range && (!span.numbers || span.low < port.low || span.high > port.high)) {
        Error error =
            error_of("SG0605", "input '{}' holds {} to {}", {port.name, span.low, span.high});
        error.why = say("the build is made for {} to {}, which its 16-bit floats rely on",
                        {port.low, port.high});
        error.help = "compile with a wider --input-range, or with --precision highp";
        return error;
    }
    if (port.dtype != DType::float32) {
        const char* name = dtype_names[static_cast<int>(port.dtype)];
        if (span.fractions || !span.numbers)
            return error_of("SG0605", "input '{}' is of {}, the array holds fractions",
                            {port.name, name});
        if (port.dtype == DType::boolean && !span.truths)
            return error_of("SG0605", "input '{}' is of bool, the array is not", {port.name});
        if (span.high > exact_integers || span.low < -exact_integers) {
            Error error = error_of("SG0605", "the array holds {} to {}", {span.low, span.high});
            error.why = say("shaders hold integers exactly up to {}", {exact_integers});
            return error;
        }
    }
    constexpr double largest_half = 65504, rounded_to_infinity = 65520;
    const double most = std::fmax(-span.low, span.high);
    if (texture.format->texel == Texel::halves && std::isfinite(most) &&
        most >= rounded_to_infinity) {
        Error error = error_of("SG0605", "the array holds {}", {most});
        error.why = say("the largest number of {} is {}", {texture.format->name, largest_half});
        return error;
    }
    return {};
}

}  // namespace

Error encode(const Port& port, const Texture& texture, DType type, const void* data,
             std::vector<char>& texels) {
    const auto count = static_cast<std::size_t>(port.elements());
    Error error = check_values(port, texture, type, span_of(type, data, count));
    if (error) return error;
    texels.assign(static_cast<std::size_t>(texture.bytes()), 0);
    char* const to = texels.data();
    const double scale = type == DType::uint8 ? 1 : 255;  // of bytes
    visit(port, texture, texture.format->components, [&](std::int64_t from, std::int64_t place) {
        const double value = number(type, data, static_cast<std::size_t>(from));
        const auto at = static_cast<std::size_t>(place);
        switch (texture.format->texel) {
            case Texel::bytes:
                put(to, at, static_cast<std::uint8_t>(std::nearbyint(value * scale)));
                break;
            case Texel::halves: put(to, at, half(static_cast<float>(value))); break;
            case Texel::floats: put(to, at, static_cast<float>(value)); break;
        }
    });
    return {};
}

void decode(const Port& port, const Texture& texture, const float* texels, DType type, void* data) {
    const bool sum = port.encoding == Encoding::y2rg;
    const bool difference = port.encoding == Encoding::y2rg_half;
    const bool bytes = port.encoding == Encoding::unorm8 && type == DType::uint8;
    const bool whole = port.dtype != DType::float32;
    visit(port, texture, lanes, [&](std::int64_t to, std::int64_t place) {
        float value = texels[place];
        if (sum) value += texels[place + 1];
        if (difference) value -= texels[place + 1];
        if (bytes) value = std::nearbyint(value * 255.0F);
        if (whole) value = std::trunc(value);  // as numpy converts
        put_number(type, data, static_cast<std::size_t>(to), value);
    });
}

}  // namespace shadergen
