"""What Keras computes from the file that it saved, and the parts that a model can be cut into."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from .case import Arrays, Case
from .reference import FLOAT32, TRIES, Failed, shaken

# what computes without rounding: noise behind these would hide mistakes at thresholds
EXACT = {
    *("ReLU", "Reshape", "Flatten", "Permute", "RepeatVector", "Concatenate", "Maximum", "Minimum"),
    *("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "Cropping1D", "Cropping2D", "Cropping3D"),
    *("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "GlobalMaxPooling1D", "GlobalMaxPooling2D"),
    *("GlobalMaxPooling3D", "UpSampling1D", "UpSampling3D", "CenterCrop", "Identity", "Dropout"),
    *("Absolute", "Negative", "Sign", "Floor", "Ceil", "Round", "Trunc", "Flip", "Roll", "Repeat"),
    *("Transpose", "Take", "Swapaxes", "Max", "Min", "Clip", "InputLayer", "Relu6"),
}


class KerasOracle:
    """Keras on the backend that its environment names.

    Raises:
        Failed: when Keras cannot load the file.
    """

    half = False

    def __init__(self, case: Case) -> None:
        self.model = loaded(case.model, case.suffix)

    def run(self, feed: Arrays) -> list[Any]:
        return self._run(feed, lambda operation: operation)

    def movement(self, feed: Arrays, noise: float, weights: float, tries: int = TRIES) -> list[Any]:
        still = [np.asarray(y, np.float64) for y in self.run(feed)]
        moved = [np.zeros(y.shape) for y in still]
        kept = [w.numpy() if hasattr(w, "numpy") else np.asarray(w) for w in self.model.weights]
        for k in range(tries):
            rng = np.random.default_rng((1, k))

            def noisy(operation: Any, rng: np.random.Generator = rng) -> Callable[..., Any]:
                exact = noise < FLOAT32 and type(operation).__name__ in EXACT

                def call(*arguments: Any, **named: Any) -> Any:
                    found = operation(*arguments, **named)
                    return found if exact else keras.tree.map_structure(shake, found)

                def shake(tensor: Any) -> Any:
                    return shaken(keras.ops.convert_to_numpy(tensor), noise, rng)

                return call

            if weights:
                for w, array in zip(self.model.weights, kept, strict=True):
                    if array.ndim > 1:
                        w.assign(shaken(array, weights, rng))
            given = {
                n: shaken(a, noise, rng) if a.dtype.kind == "f" else a for n, a in feed.items()
            }
            found = self._run(given, noisy)
            for m, y, s in zip(moved, found, still, strict=True):
                np.maximum(m, np.nan_to_num(np.abs(y - s), nan=np.inf), out=m)
        for w, array in zip(self.model.weights, kept, strict=True):
            w.assign(array)
        return moved

    def largest(self, feed: Arrays) -> float:
        most = 0.0

        def watched(operation: Any) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                nonlocal most
                found = operation(*arguments, **named)
                for y in keras.tree.flatten(found):
                    most = max(most, float(np.abs(keras.ops.convert_to_numpy(y)).max()))
                return found

            return call

        self._run(feed, watched)
        return most

    def _run(self, feed: Arrays, by: Callable[[Any], Any]) -> list[Any]:
        functional = getattr(self.model, "_functional", None) or self.model
        arrays = [keras.ops.convert_to_tensor(a) for a in feed.values()]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = functional._run_through_graph(arrays, operation_fn=by)
        except Exception as error:  # whatever a backend raises
            raise Failed(str(error)) from None
        return [keras.ops.convert_to_numpy(y) for y in keras.tree.flatten(found)]


def loaded(data: bytes, suffix: str) -> Any:
    """Load a model from the bytes of its file.

    Raises:
        Failed: when Keras cannot.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"model{suffix}"
        path.write_bytes(data)
        try:
            return keras.models.load_model(path, compile=False)
        except Exception as error:  # whatever Keras raises
            raise Failed(str(error)) from None


def saved(model: Any, suffix: str) -> bytes:
    """Return a model as the file that Keras writes."""
    logging.getLogger("absl").setLevel("ERROR")  # remarks on .h5 at every one
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"model{suffix}"
        model.save(path)
        return path.read_bytes()


def parts_of(case: Case) -> Iterator[Case]:
    """Yield models that are a part of one: each call alone, then what leads to each."""
    oracle = KerasOracle(case)
    functional = getattr(oracle.model, "_functional", None) or oracle.model
    nodes = [
        node
        for depth in sorted(functional._nodes_by_depth, reverse=True)
        for node in functional._nodes_by_depth[depth]
        if not node.is_input
    ]
    if len(nodes) < 2:
        return
    ends = [y for node in nodes for y in node.outputs]
    within = keras.Model(functional.inputs, ends)
    runs = []
    for feed in case.feeds:
        found = within([keras.ops.convert_to_tensor(a) for a in feed.values()], training=False)
        values = [keras.ops.convert_to_numpy(y) for y in keras.tree.flatten(found)]
        known = dict(zip(map(id, ends), values, strict=True))
        known |= {id(i): a for i, a in zip(functional.inputs, feed.values(), strict=True)}
        runs.append(known)
    for node in nodes:
        tensors = list({id(t): t for t in node.input_tensors}.values())
        inputs = [
            keras.Input(t.shape[1:], dtype=t.dtype, name=f"in{k}") for k, t in enumerate(tensors)
        ]
        places = {id(t): i for t, i in zip(tensors, inputs, strict=True)}
        given, named = node.arguments.fill_in(places)
        feeds = tuple(
            {i.name: run[id(t)] for t, i in zip(tensors, inputs, strict=True)} for run in runs
        )
        yield from _saved(
            case, inputs, lambda n=node, g=given, d=named: n.operation(*g, **d), feeds
        )
    for node in nodes[:-1]:
        yield from _saved(case, functional.inputs, lambda n=node: n.outputs, case.feeds)


def _saved(
    case: Case, inputs: list[Any], outputs: Callable[[], Any], feeds: tuple[Arrays, ...]
) -> Iterator[Case]:
    try:
        model = keras.Model(inputs, outputs())
        data = saved(model, case.suffix)
    except Exception:  # no model of its own, by whatever Keras raises
        return
    names = {i.name for i in model.inputs}
    kept = tuple({n: a for n, a in feed.items() if n in names} for feed in feeds)
    made_of = tuple(sorted(type(layer).__name__ for layer in model.layers))
    yield replace(case, model=data, feeds=kept, made_of=made_of)
