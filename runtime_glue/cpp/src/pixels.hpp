// Tensors as texels, without GL: docs/schedule.md, "How a tensor lies in textures".

#ifndef SHADERGEN_PIXELS_HPP
#define SHADERGEN_PIXELS_HPP

#include "schedule.hpp"

namespace shadergen {

// Lay an array of the model's own shape out as texels of an input texture. SG0605 when it holds
// numbers that the texture cannot.
bool encode(const Port& port, const Texture& texture, DType type, const void* data,
            List<char>& texels, Error& error);

// Turn texels of four floats into an array of the model's own shape.
void decode(const Port& port, const Texture& texture, const float* texels, DType type, void* data);

}  // namespace shadergen

#endif
