"""Refusals of shaders that exceed a limit of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ShadergenError

if TYPE_CHECKING:
    from ..ir.graph import Stage
    from ..passes.placement.target import Target


def check_units(units: int, stage: Stage, target: Target, name: str) -> None:
    """Refuse a shader that reads more textures than the device has units.

    Raises:
        ShadergenError: SG0402.
    """
    limits = target.limits
    most = limits.compute_texture_units if stage == "compute" else limits.texture_units
    tip = "use --textures array, which needs one unit for each tensor"
    check_limit("texture units", units, most, name, tip)


def check_limit(what: str, number: int, most: int, name: str, help: str = "") -> None:
    """Refuse what exceeds a limit of the device.

    Raises:
        ShadergenError: SG0402.
    """
    if number > most:
        raise ShadergenError(
            "SG0402",
            f"'{name}' needs {number} {what}",
            where=f"layer {name}",
            why=f"the device profile allows {most}",
            help=help or "choose a device profile with larger limits (--device)",
        )
