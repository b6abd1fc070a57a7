"""Which layer is imported wrongly: values of the model, each compared with the framework's.

The values become outputs, of the imported graph and of the framework's model (``--outputs``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import ShadergenError
from ...records import replace
from ..compilation import import_model
from ..frontends import Request
from ..frontends.onnx.read.model import parse_model
from ..frontends.signatures import is_keras
from ..judging import error_and_bound, tolerance_of
from ..references import NumpyReference, choose_reference
from .pixels import difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..options import Options
    from ..verification import Verification

CUT = ("onnxruntime", "keras")  # references that can give any value of a model
AT_ONCE = 64  # values that are outputs of one model


def find_wrong_value(
    verified: Verification, progress: Callable[[str], None] = lambda step: None
) -> str:
    """Return the first value of a model, or layer of a Keras model, that the import gets wrong.

    Returns:
        Its name; empty if none is found, for dynamic sizes, and where the reference cannot be cut.
    """
    options = replace(verified.options, preprocess="", validate=False)
    if options.dynamic is not None or verified.expected.reference not in CUT:
        return ""
    names = list(_names(verified))
    for start in range(0, len(names), AT_ONCE):
        progress(f"comparing values of the model: {start} of {len(names)}")
        for name in _wrong(verified, options, names[start : start + AT_ONCE]):
            return name
    return ""


def _names(verified: Verification) -> Iterator[str]:
    if is_keras(verified.model):
        layers = (layer for node in verified.expected.graph.nodes for layer in node.layers)
        yield from dict.fromkeys(layers)
        return
    graph = parse_model(verified.model).graph
    given = {i.name for i in graph.input}
    for node in graph.node:
        yield from (name for name in node.output if name and name not in given)


def _wrong(verified: Verification, options: Options, names: list[str]) -> Iterator[str]:
    """Yield the values that differ; those that cannot be outputs are passed over."""
    try:
        yield from _compared(verified, replace(options, outputs=tuple(names)))
    except Exception:  # of the frontend, or of the framework's loader
        half = len(names) // 2
        if half:
            yield from _wrong(verified, options, names[:half])
            yield from _wrong(verified, options, names[half:])


def _compared(verified: Verification, options: Options) -> list[str]:
    graph = import_model(verified.model, options)
    shapes = options.array_shapes
    request = Request(
        options.input_size, inputs=options.inputs, outputs=options.outputs, shapes=shapes
    )
    expected = verified.expected
    oracle, _ = choose_reference(verified.model, graph, expected.reference, request)
    needed = {i.name for i in graph.inputs}
    inputs = {k: v for k, v in expected.inputs.items() if k in needed or k in options.input_value}
    theirs = oracle.run(expected.inputs)
    ours = NumpyReference(graph).run(inputs)
    tolerance = tolerance_of(options)
    wrong = []
    for name in options.outputs:
        want = np.asarray(theirs[name], np.float64)
        if want.shape != ours[name].shape:
            unlike = f"shape {ours[name].shape}, the reference has {want.shape}"
            raise ShadergenError("SG0701", f"'{name}' has {unlike}")
        absolute = difference(np.asarray(ours[name], np.float64), want)
        error, bound = error_and_bound(absolute, want, tolerance)
        if error.max(initial=0) > bound:
            wrong.append(name)
    return wrong
