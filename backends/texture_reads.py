"""GLSL that reads textures: a tensor's layers, single texels, weights of 8 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.graph import Constant
from ..ir.types import INT8_ZERO

if TYPE_CHECKING:
    from ..ir.graph import Value
    from ..ir.target import Target


@dataclass(frozen=True)
class Texture:
    """A tensor as a shader reads it."""

    name: str
    value: Value
    samplers: tuple[str, ...]
    first: int
    image: bool = False
    offset: str = ""  # of the layers of an array that are the tensor's

    def fetch(self, position: str, layer: int | str) -> str:
        """Return the texel of a layer at an ivec2; ``layer`` is a number or an int expression."""
        layout = self.value.type.layout
        assert layout is not None
        if layout.kind == "array":
            if self.offset:
                layer = f"{layer} + {self.offset}" if layer else self.offset
            return self._texel(self.samplers[0], f"ivec3({position}, {layer})")
        if isinstance(layer, int):
            return self._texel(self.samplers[layer - self.first], position)
        if len(self.samplers) == 1:
            return self._texel(self.samplers[0], position)
        return f"fetch_{self.name}({position}, {layer})"

    def chain(self) -> str:
        """Return a function that picks one of several 2D textures: samplers cannot be indexed."""
        lines = [f"vec4 fetch_{self.name}(ivec2 p, int layer) {{"]
        for k, sampler in enumerate(self.samplers[:-1]):
            texel = self._texel(sampler, "p")
            lines.append(f"    if (layer == {self.first + k}) return {texel};")
        return "\n".join([*lines, f"    return {self._texel(self.samplers[-1], 'p')};", "}"])

    def is_zero_outside(self, target: Target) -> bool:
        """Whether reading beside the map gives zero."""
        return self.image and target.fetch == "image-zero"

    def _texel(self, sampler: str, position: str) -> str:
        layout = self.value.type.layout
        assert layout is not None
        if layout.kind == "external":
            return f"fetch_{self.name}({position})"
        text = texel(sampler, position, self.image)
        return whole(text, layout.format) if isinstance(self.value, Constant) else text


def texel(name: str, position: str, image: bool) -> str:
    """Return the texel of a sampler, or of an image, at integer coordinates."""
    return f"imageLoad({name}, {position})" if image else f"texelFetch({name}, {position}, 0)"


def whole(text: str, texel_format: str) -> str:
    """Return the whole numbers (``ir.types.fits_int8``) of 8-bit weights; others as they are."""
    return f"({text} * 255.0 - {INT8_ZERO}.0)" if texel_format.endswith("8") else text
