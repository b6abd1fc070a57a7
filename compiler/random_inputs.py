"""Random inputs for ``verify``, and for estimates of errors.

Floats are uniform in ``--input-range``, by default 0..1; 8-bit images in 0..1 in steps of 1/255.
Indices cover all entries of their table; other 8-bit integers the range of their type. Wider
integers cover ``--input-range``; by default they are 0 or 1, which is safe for any use. Booleans
are both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.expr import Var
from ..ir.formula_parser import parse
from ..ir.graph import Input, Result
from ..ir.ops import Gather, GatherElements, Movement, Pointwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..ir.graph import Graph, Value
    from ..runtime_glue.python.schedule import Port

WHOLE = (Var("x0"), parse("trunc(x0)"))  # formulas that keep an index what it is


def trial_inputs(
    graph: Graph, input_range: tuple[float, float] | None = None
) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield what to estimate errors with: noise as ``verify`` takes it, and what is smooth."""
    yield random_inputs(graph, 1, input_range)
    yield random_inputs(graph, 2, input_range, _ramp)


def _noise(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    return rng.random(shape, np.float32)


def _ramp(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return numbers of 0..1 that rise or fall evenly along the last two axes together."""
    each, size = shape[:-2], shape[-2:]
    ramp = np.zeros(())
    for n in size:
        ramp = np.add.outer(ramp, np.linspace(0, 1 / len(size), n))
    falls = rng.random((*each, *(1,) * len(size))) < 0.5
    return np.where(falls, 1 - ramp, ramp).astype(np.float32)


def random_inputs(
    graph: Graph,
    seed: int,
    input_range: tuple[float, float] | None = None,
    uniform_in: Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float32]] = _noise,
) -> dict[str, NDArray[Any]]:
    """Return inputs in the model's own shapes.

    Args:
        graph: the model.
        seed: equal ones give equal inputs.
        input_range: the least and the largest number; None is 0..1, or what the type suggests.
        uniform_in: makes numbers of 0..1.
    """
    rng = np.random.default_rng(seed)
    entries = _entries(graph)
    arrays: dict[str, NDArray[Any]] = {}
    for i in graph.inputs:
        uniform = uniform_in(rng, i.shape)
        if i.name in entries:
            most = entries[i.name] - 1
            values = np.minimum(np.floor(uniform.astype(np.float64) * (most + 1)), most)
        else:
            values = _spread(uniform, i.type.dtype, i.port.encoding, input_range or (0.0, 1.0))
        arrays[i.name] = np.array(values.transpose(i.port.axes), i.type.dtype, order="C")
    return arrays


def random_inputs_of_ports(ports: Sequence[Port], seed: int) -> dict[str, NDArray[Any]]:
    """Return inputs for a build, whose schedule does not tell which of them are indices.

    Integers of any width are 0 or 1, therefore. A range that does not hold 0..1 is kept to.
    """
    rng = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {}
    for port in ports:
        uniform = rng.random(port.shape, np.float32)
        low, high = port.range or (0.0, 1.0)
        within = (0.0, 1.0) if low <= 0 and high >= 1 else (low, high)
        dtype = "int32" if port.dtype in ("int8", "uint8") else port.dtype
        arrays[port.name] = _spread(uniform, dtype, port.encoding, within).astype(port.dtype)
    return arrays


def _spread(
    uniform: NDArray[np.float32], dtype: str, encoding: str, within: tuple[float, float]
) -> NDArray[Any]:
    """Return numbers of 0..1 as values of an input that is no index."""
    values: NDArray[Any]
    low, high = within
    if encoding == "unorm8":
        values = np.round(uniform * 255) / np.float32(255)
    elif dtype == "bool":
        values = np.round(uniform)
    elif dtype in ("int8", "uint8"):
        values = np.minimum(np.floor(uniform * 256), 255) + np.iinfo(dtype).min
    else:
        values = low + (high - low) * uniform.astype(np.float64)
        if dtype != "float32":
            ends = np.iinfo(dtype)
            values = np.clip(np.round(values), np.ceil(low), np.floor(high))
            values = np.clip(values, ends.min, min(ends.max, 2**53))
    return values


def _entries(graph: Graph) -> dict[str, int]:
    """Return, for inputs that are indices, how many entries the smallest of their tables has."""
    sizes: dict[str, int] = {}
    for node in graph.nodes:
        if isinstance(node.op, (Gather, GatherElements)):
            table, indices = node.inputs
            source = _source(indices)
            if isinstance(source, Input):
                size = table.shape[node.op.axis]
                sizes[source.name] = min(size, sizes.get(source.name, size))
    return sizes


def _source(value: Value) -> Value:
    """Follow a value back through what only moves elements or makes them whole."""
    while isinstance(value, Result) and len(value.node.inputs) == 1:
        op = value.node.op
        if not isinstance(op, Movement) and not (isinstance(op, Pointwise) and op.expr in WHOLE):
            break
        (value,) = value.node.inputs
    return value
