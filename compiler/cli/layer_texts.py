"""What ``verify --layers`` and ``verify --bisect`` print."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...errors import count, few
from .output import echo, new_table, passes_text, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..debugging.bisection import Bisection
    from ..debugging.inside import LayerError
    from ..debugging.layers import Layers
    from ..debugging.pixels import Pixel

LARGEST_HALF = 65504.0  # as ir.types has it, which imports numpy
SHARING_IS_WRONG = (
    "outputs are right if each tensor has its own texture: texture sharing is at fault"
)


def print_layers(found: Layers, reference_matches: bool) -> None:
    """Print the table of all stored tensors, and the first wrong one.

    Args:
        found: the comparison.
        reference_matches: whether the outputs match the reference.
    """
    table = new_table("#", "tensor", "layers", "kernel", "shape", "max error", "bound", "")
    for k, t in enumerate(found.tensors):
        shape = "x".join(map(str, t.shape)) or "1"
        verdict = "ok" if t.ok else "differs"
        cells = (t.name, ", ".join(t.layers), t.kernel, shape)
        table.add_row(str(k), *cells, f"{t.max_error:.3g}", f"{t.bound:.3g}", verdict, red=not t.ok)
    print_table(table, ("layers",))
    if found.fused:
        echo(fused_line(found.fused))
    if found.without:
        echo(
            f"computed without GPU passes (constants and data movement): {few(list(found.without))}"
        )
    echo(*lines_of(found, reference_matches))


def fused_line(fused: Mapping[str, str]) -> str:
    """Return a line about the layers that are not stored; the table has all of them."""
    groups: dict[str, list[str]] = {}
    for layer, into in fused.items():
        groups.setdefault(into, []).append(layer)
    texts = [f"{', '.join(layers)} (into {into})" for into, layers in groups.items()]
    return f"fused, so not stored: {few(texts)}"


def lines_of(found: Layers, reference_matches: bool) -> list[str]:
    """Return what the comparison says of the build, a line each."""
    first = found.first
    if first is None:
        tensors = count(len(found.tensors), "stored tensor")
        lines = [f"{tensors} {'match' if len(found.tensors) > 1 else 'matches'} the interpreter"]
        if found.shared_wrongly:
            lines.append(SHARING_IS_WRONG)
        elif not reference_matches:
            lines.append(
                "the shaders are right, but the compiled graph differs from the reference: "
                "--bisect names the compiler pass at fault"
            )
        return lines
    of = f" (layers {', '.join(first.layers)})" * (len(first.layers) > 1)
    lines = [f"first wrong tensor: '{first.name}', {first.kernel}{of}", *pixel_lines(first)]
    assert found.alone is not None
    if first.pixel is not None and _overflows(first.pixel):
        lines.append(
            "  65504 is the largest 16-bit float: use --precision highp or auto, or inputs of a "
            "smaller range"
        )
    elif found.alone.ok:
        lines.append(
            "  its GPU passes are right if they run alone, on exact inputs (error "
            f"{found.alone.max_error:.3g}): errors of earlier tensors add up"
        )
    else:
        lines.append("  its GPU passes are wrong even if their inputs are right")
    return lines


def _overflows(pixel: Pixel) -> bool:
    """Whether a value is infinite because 16-bit floats do not hold it."""
    return math.isinf(pixel.got) and LARGEST_HALF < abs(pixel.expected) < math.inf


def pixel_lines(tensor: LayerError) -> list[str]:
    """Return the worst pixel of a tensor, and who wrote it."""
    pixel = tensor.pixel
    if pixel is None:
        return []
    return [
        f"  worst pixel: {pixel.place}: got {pixel.got:.6g}, expected {pixel.expected:.6g}",
        f"  written by GPU pass {pixel.position} '{pixel.gpu_pass}', {pixel.where}",
    ]


def layers_data(found: Layers) -> dict[str, Any]:
    """Return the comparison as data for JSON."""
    return {
        "tensors": [_tensor_data(t) for t in found.tensors],
        "first_wrong": None if found.first is None else found.first.name,
        "alone": None if found.alone is None else _tensor_data(found.alone),
        "fused": dict(found.fused),
        "without_passes": list(found.without),
        "shared_wrongly": found.shared_wrongly,
        "ok": found.ok,
    }


def _tensor_data(tensor: LayerError) -> dict[str, Any]:
    names = ("name", "layers", "kernel", "passes", "shape", "max_error", "mean_error", "bound")
    data = {name: getattr(tensor, name) for name in (*names, "tied", "ok")}
    return data | {"pixel": None if tensor.pixel is None else asdict(tensor.pixel)}


def bisection_lines(found: Bisection) -> list[str]:
    """Return what the bisection of a wrong build says, a line each."""
    lines = _causes(found)
    if not found.cures:
        tried = count(found.tried, "other build")
        lines.append(f"no option makes the build right ({tried} tried)")
        if found.kernels:
            lines.append("to tell a driver's fault from shadergen's, try another --adapter")
        return lines
    best, *others = found.cures
    changed = passes_text(best.changed)
    lines.append(f"smallest change that makes the build right ({changed} changed): {best.text}")
    lines += [f"  also right: {cure.text} ({cure.changed} changed)" for cure in others[:8]]
    if len(others) > 8:
        lines.append(f"  and {len(others) - 8} more")
    return lines


def _causes(found: Bisection) -> list[str]:
    lines = []
    if (graph := found.graph) is not None:
        about = f", first at layer '{graph.layer}'" * bool(graph.layer)
        if graph.step == "import":
            value = f", first at value '{graph.layer}'" * bool(graph.layer)
            lines.append(f"the imported graph differs from the reference{value}")
            lines.append(
                "  either shadergen misreads the model, or the reference is less exact than "
                "shadergen's interpreter, which computes in 64-bit floats"
            )
        else:
            lines.append(f"the compiler's pass {graph.step} makes the graph wrong{about}")
    if found.kernels:
        first = found.kernels[0]
        where = f" of layer '{first.layers[-1]}'" * bool(first.layers)
        lines.append(f"first wrong kernel: {first.kernel}{where}, tensor '{first.name}'")
        lines += pixel_lines(first)
        if len(found.kernels) > 1:
            names = few([f"{t.name} ({t.kernel})" for t in found.kernels[1:]])
            lines.append(f"  wrong as well: {names}")
    if found.shared_wrongly:
        lines.append(SHARING_IS_WRONG)
    if not lines:
        lines.append(
            "the compiled graph and each GPU pass are right within their error bounds: either the "
            "errors add up, or a pass reads a texture too early"
        )
    return lines


def bisection_data(found: Bisection) -> dict[str, Any]:
    """Return a bisection as data for JSON."""
    return {
        "graph": None if found.graph is None else asdict(found.graph),
        "kernels": [_tensor_data(t) for t in found.kernels],
        "shared_wrongly": found.shared_wrongly,
        "cures": [asdict(cure) for cure in found.cures],
        "tried": found.tried,
        "refused": found.refused,
    }
