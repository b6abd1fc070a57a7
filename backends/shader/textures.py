"""Textures of a program: one array, several 2D ones, an image, a camera frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.graph import Constant
from ...ir.types import FORMATS, INT8_ZERO
from ...records import dataclass
from .constructors import construct, integer, ivec2, vec2, vec4
from .expressions import Lanes, Texel, Uniform, Variable, known
from .program import Function
from .statements import Body
from .types import FLOAT, INT, IVEC2, MAT4, VEC2, VEC4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ir.graph import Value
    from ...ir.types import TextureFormat
    from ...passes.placement.target import Target
    from .expressions import Expression, Int
    from .program import TextureBinding


@dataclass(frozen=True)
class TensorTexture:
    """A tensor as a program reads it.

    Attributes:
        value: the tensor.
        bindings: its texture, or one for each layer from ``first`` on.
        first: the layer that the first binding is.
        offset: layers of an array before the tensor's own.
        size: the vec2 of width and height if the texture may be sampled, else None.
        function: the function that reads an external texture.
        choosing: returns a function that reads one of several bindings; its arguments are the first
            and the last layer to choose from.
        height: of a plane, if the planes lie below each other in one texture.
    """

    value: Value
    bindings: tuple[TextureBinding, ...]
    first: int
    offset: Expression | None = None
    size: Expression | None = None
    function: Function | None = None
    choosing: Callable[[int, int], Function] | None = None
    height: Int | None = None

    @property
    def sampled(self) -> bool:
        """Whether it is read as a sample where all invocations read."""
        return self.size is not None

    def fetch(
        self,
        position: Expression,
        layer: Int,
        everywhere: bool = False,
        centre: Expression | None = None,
        among: tuple[int, int] | None = None,
        row: Expression | None = None,
    ) -> Expression:
        """Return the texel of a layer at an ivec2.

        Args:
            position: in the map; beside it, what is read is of no use.
            layer: its number.
            everywhere: whether all invocations of a draw execute the read. Only then is sampling
                defined, because it takes the level of detail from neighbouring invocations, even
                though the texture has a single level.
            centre: :meth:`centre` of the position, where it is at hand.
            among: the least and the largest number that the layer can be, if known. The program
                then needs no textures of other layers, if each has its own.
            row: where the layer begins in a stack of planes, if that is at hand.
        """
        binding = self.bindings[0]
        if binding.kind == "external":
            assert self.function is not None
            return self.function(position)
        number: Expression | None = None
        if binding.kind == "array":
            number = integer(layer) if self.offset is None else integer(layer) + self.offset
        elif len(self.bindings) > 1:
            least, most = self._within(among)
            plain = least if least == most else known(layer)
            if plain is None:
                assert self.choosing is not None
                return self.choosing(least, most)(position, integer(layer))
            binding = self.bindings[plain - self.first]
        elif self.height is not None and known(layer) != 0:
            position = position + ivec2(0, integer(layer) * self.height if row is None else row)
        if everywhere and self.sampled:
            return Texel(binding, None, number, centre or self.centre(position))
        texel = Texel(binding, position, number)
        return whole(texel, self.value.type.layout.format) if self._is_constant else texel  # type: ignore[union-attr]

    def _within(self, layers: tuple[int, int] | None) -> tuple[int, int]:
        """Return the first and the last layer of a range that have a texture here."""
        first, last = self.first, self.first + len(self.bindings) - 1
        least, most = layers or (first, last)
        least, most = max(least, first), min(most, last)
        return (least, most) if least <= most else (first, last)  # else nothing comes here

    @property
    def _is_constant(self) -> bool:
        return isinstance(self.value, Constant)

    def is_zero_outside(self, target: Target) -> bool:
        """Whether reading beside the map gives zero."""
        zeros = self.bindings[0].unit is not None and target.fetch == "image-zero"
        return zeros and self.height is None  # beside a plane in a stack lies another one

    def centre(self, position: Expression) -> Expression:
        """Return the vec2 at which the texel at an ivec2 is sampled; 0 to 1 is the map."""
        assert self.size is not None
        return (construct(VEC2, position) + 0.5) / self.size


def float_size(width: Int, height: Int) -> Expression:
    """Return the vec2 of two ints, of known ones in numbers."""
    sides = (width, height)
    return vec2(*(construct(FLOAT, s) if known(s) is None else float(known(s) or 0) for s in sides))


def choosing(name: str, value: Value, bindings: Sequence[TextureBinding], first: int) -> Function:
    """Return a function that reads one of several 2D textures: they cannot be indexed."""
    p, layer = Variable("p", IVEC2), Variable("layer", INT)
    body = Body()
    texels = [
        TensorTexture(value, (binding,), first + k).fetch(p, first + k)
        for k, binding in enumerate(bindings)
    ]
    for k, texel in enumerate(texels[:-1]):
        with body.when(layer.equals(first + k)):
            body.give(texel)
    body.give(texels[-1])
    return Function(name, (p, layer), VEC4, body.statements, chooses=True)


def from_external(name: str, binding: TextureBinding, width: Int, height: Int) -> Function:
    """Return a function that reads an external texture at a pixel of the map.

    The frame is of another size than the map, so texels are asked for at their centres. The matrix
    takes (0, 0) as the lower left of the picture, as Android's SurfaceTexture has it.
    """
    p = Variable("p", IVEC2)
    body = Body()
    at = body.let("at", (construct(VEC2, p) + 0.5) / float_size(width, height), full=True)
    turned = Uniform(binding.matrix, MAT4) * vec4(at.x, 1.0 - at.y, 0.0, 1.0)
    body.give(Texel(binding, centre=Lanes(turned, "xy")))
    return Function(f"fetch_{name}", (p,), VEC4, body.statements)


def whole(texel: Expression, texel_format: TextureFormat) -> Expression:
    """Return the whole numbers (``ir.types.fits_int8``) of 8-bit weights; others as they are."""
    return texel * 255.0 - float(INT8_ZERO) if FORMATS[texel_format].bits == 8 else texel
