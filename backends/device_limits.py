"""Refusals of shaders that exceed a limit of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ShadergenError

if TYPE_CHECKING:
    from ..ir.graph import Stage
    from ..passes.placement.target import Target


class TextureUnitError(ShadergenError):
    """A layer's shader reads more textures than the device has units; SG0402."""

    def __init__(self, layer: str, units: int, most: int) -> None:
        self.layer, self.units = layer, units
        super().__init__(
            "SG0402",
            f"'{layer}' needs {units} texture units",
            where=f"layer {layer}",
            why=f"the device profile allows {most}",
            help="use --textures array, which needs one unit for each tensor",
        )


def check_units(units: int, stage: Stage, target: Target, name: str) -> None:
    """Refuse a shader that reads more textures than the device has units.

    Raises:
        TextureUnitError: SG0402.
    """
    limits = target.limits
    most = limits.compute_texture_units if stage == "compute" else limits.texture_units
    if units > most:
        raise TextureUnitError(name, units, most)


def check_parameters(size: int, target: Target, name: str) -> None:
    """Refuse a shader whose parameters exceed a uniform block; ``size`` is in bytes.

    Raises:
        ShadergenError: SG0402.
    """
    most = target.limits.uniform_block_size
    if size > most:
        raise ShadergenError(
            "SG0402",
            f"'{name}' needs {size} bytes of parameters",
            where=f"layer {name}",
            why=f"the device profile allows {most}",
            help="choose a device profile with larger limits (--device)",
        )
