"""What a network's own framework makes of a few pictures, and whether that says anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .catalogue import Case

Array = NDArray[Any]
BEST = 5


def best(scores: Array) -> Array:
    """Return the classes that rank first, best first."""
    return np.argsort(-scores.ravel())[:BEST]


def margin(scores: Array) -> float:
    """Return the least relative distance of neighbours among the best and the next.

    0 where one class takes all, as of a saturated softmax: the order of the others is rounding.
    """
    front = np.sort(scores.ravel())[::-1][: BEST + 1]
    if np.abs(front).min() < 1e-3 * np.abs(front).max():
        return 0.0
    return float((-np.diff(front) / np.abs(front[:-1])).min())


def run_onnx(path: Path, images: Array) -> list[Array]:
    """Return every output of a model of one input and batch 1, for all images.

    As the graph says: the optimiser of onnxruntime 1.31 moves zeros that a network pads with into a
    max pool, which pads with minus infinity (YOLOv3-tiny).
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    runs = [session.run(None, {name: images[i : i + 1]}) for i in range(len(images))]
    return [np.concatenate([r[None] for r in outputs]) for outputs in zip(*runs, strict=True)]


def run_keras(model: Any, images: Array) -> list[Array]:
    """Return every output of a Keras model, for all images."""
    outputs = model(images, training=False)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [np.asarray(y)[:, None] for y in outputs]


def write_reference(case: Case, images: Array, outputs: list[Array], path: Path) -> None:
    """Choose the image that tells most and write it, ``x``, and its outputs, ``y0``, ``y1`` ...

    Args:
        case: for messages, and to know a classifier.
        images: a batch, in the model's own axis order.
        outputs: of the model, each (images, batch of 1, ...).
        path: the ``.npz`` to write.

    Raises:
        AssertionError: when comparing with these outputs would prove nothing.
    """
    check_not_degenerate(case, outputs)
    chosen = 0
    if case.network.classifier:
        chosen = int(np.argmax([margin(scores) for scores in outputs[0]]))
    arrays = {f"y{i}": y[chosen] for i, y in enumerate(outputs)}
    np.savez(path, x=images[chosen : chosen + 1], **arrays)


def read_reference(path: Path) -> tuple[Array, list[Array]]:
    """Return the image and the outputs."""
    with np.load(path) as stored:
        return stored["x"], [stored[f"y{i}"] for i in range(len(stored.files) - 1)]


def check_not_degenerate(case: Case, outputs: list[Array]) -> None:
    """Demand that outputs are finite, of a sensible size, and depend on the image."""
    for i, values in enumerate(np.asarray(y, np.float64) for y in outputs):
        assert np.isfinite(values).all(), f"{case}: output {i} is not finite"
        assert 1e-2 < np.abs(values).max() < 1e4, f"{case}: output {i} is vast or next to nothing"
        between, whole = np.sqrt(values.var(0).mean()), values.std()
        assert between > 0.1 * whole > 0, f"{case}: output {i} hardly depends on the image"
    if case.network.classifier:
        (scores,) = outputs
        ranks = {tuple(best(s)) for s in scores}
        assert len(ranks) == len(scores), f"{case}: two images rank classes alike"
        widest = max(margin(s) for s in scores)
        assert widest > 1e-3, f"{case}: the best classes of every image are next to equal"
