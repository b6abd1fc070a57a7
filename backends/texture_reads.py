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
    sampled: bool = False  # where all invocations read

    def fetch(
        self, position: str, layer: int | str, everywhere: bool = False, centre: str = ""
    ) -> str:
        """Return the texel of a layer at an ivec2.

        Args:
            position: in the map; beside it, what is read is of no use.
            layer: a number or an int expression.
            everywhere: all invocations of a draw come here. ``texture()`` is defined only there, as
                it looks at neighbours; of levels of detail, which they decide on, there is one.
            centre: a variable with :meth:`centre` of the position, where there is one.
        """
        layout = self.value.type.layout
        assert layout is not None
        if layout.kind == "array" and self.offset:
            number = layer if str(layer).isalnum() else f"({layer})"
            layer = f"{number} + {self.offset}" if layer else self.offset
        if everywhere and self.sampled:
            return self._sample(centre or self.centre(position), layer)
        if layout.kind == "array":
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

    def centre(self, position: str) -> str:
        """Return the vec2 at which the texel at an ivec2 is sampled; 0 to 1 is the map."""
        width, height, _ = self.value.type.extent
        return f"(vec2({position}) + 0.5) / vec2({width}.0, {height}.0)"

    def _sample(self, centre: str, layer: int | str) -> str:
        layout = self.value.type.layout
        if layout is not None and layout.kind == "array":
            number = f"{layer}.0" if isinstance(layer, int) else f"float({layer})"
            centre = f"vec3({centre}, {number})"
        return f"texture({self.samplers[0]}, {centre})"

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
