"""What an interactive Python shows of a build: a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import printable
from ...number_texts import bytes_text, passes_text, si_text
from .pixels import shape_text

if TYPE_CHECKING:
    from .schedule import Build, Port


def summary(build: Build, title: str, weight_bytes: int) -> str:
    """Return lines with a build's inputs and outputs, GPU passes, memory, sizes and variants.

    All figures are for the current sizes.

    Args:
        build: whose lines to return.
        title: the first line, without its brackets.
        weight_bytes: of the weight file.
    """
    macs = si_text(sum(p.macs for p in build.passes))
    weights = f"{bytes_text(weight_bytes)} of weights" if weight_bytes else "weights in the shaders"
    lines = [
        f"<{title}>",
        f"inputs:   {_ports(build.inputs)}",
        f"outputs:  {_ports(build.outputs)}",
        f"work:     {passes_text(len(build.passes))}, {macs} multiply-adds",
        f"memory:   {bytes_text(build.texture_bytes)} of textures, {weights}",
    ]
    if build.sizes is not None:
        ranges = {p["name"]: p for p in build.sizes.document["sizes"]["parameters"]}
        sizes = (
            f"{name} {value} ({ranges[name]['min']} to {ranges[name]['max']})"
            for name, value in build.sizes.values.items()
        )
        lines.append(f"sizes:    {', '.join(sizes)}")
    if build.variants:
        lines.append(f"variants: {', '.join(build.variants)}")
    return "\n".join(map(printable, lines))


def _ports(ports: tuple[Port, ...]) -> str:
    return ", ".join(f"{port.name} {shape_text(port.shape)}" for port in ports)
