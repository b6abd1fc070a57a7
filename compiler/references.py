"""Reference implementations that a build is compared with; none shares code with the kernels."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ShadergenError
from ..ir import reference as interpreter
from .choices import REFERENCES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ..ir.graph import Graph


class Reference(Protocol):
    """Runs a model on arrays in the model's own shapes."""

    name: str

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the outputs by the graph's names."""


class NumpyReference:
    """The IR interpreter, in float64: independent of passes and kernels, not of the frontend."""

    name = "numpy"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        logical = {
            i.name: np.transpose(inputs[i.name], np.argsort(i.port.axes)) for i in self.graph.inputs
        }
        outputs = interpreter.evaluate(self.graph, logical)
        return {o.name: outputs[o.name].transpose(o.port.axes) for o in self.graph.outputs}


class OnnxReference:
    """onnxruntime on the CPU, with its own optimisations off."""

    name = "onnxruntime"

    def __init__(self, model: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
        self.session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        types = {"tensor(float16)": np.float16, "tensor(double)": np.float64}
        feed = {
            i.name: np.asarray(inputs[i.name], types.get(i.type, np.float32))
            for i in self.session.get_inputs()
        }
        names = [o.name for o in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, feed), strict=True))


class KerasReference:
    """Keras 3 on whichever backend it finds; models it cannot load are no user's mistake."""

    name = "keras"

    def __init__(self, model: Path, graph: Graph) -> None:
        os.environ.setdefault("KERAS_BACKEND", _keras_backend())
        import keras

        self.model = keras.models.load_model(
            model, compile=False, custom_objects=_keras_operations()
        )
        self.inputs = [i.name for i in graph.inputs]
        self.outputs = [o.name for o in graph.outputs]

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        import keras

        arrays = [np.asarray(inputs[name], np.float32) for name in self.inputs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras remarks on lists in place of dictionaries
            result = self.model(arrays if len(arrays) > 1 else arrays[0], training=False)
        if isinstance(result, dict) and set(result) == set(self.outputs):
            flat = [result[name] for name in self.outputs]
        else:
            flat = keras.tree.flatten(result)  # dictionaries in the order of their keys
        arrays = [np.asarray(keras.ops.convert_to_numpy(r)) for r in flat]
        return dict(zip(self.outputs, arrays, strict=True))


def _keras_operations() -> dict[str, Any]:
    """Return the classes of Keras' operations, which an .h5 names without their modules.

    Some are called like layers (Add); there the file may mean either, and Keras takes the layer.
    """
    from keras import layers
    from keras.src.ops import core, image, nn, numpy, operation

    return {
        name: item
        for module in (core, image, nn, numpy)
        for name, item in vars(module).items()
        if isinstance(item, type)
        and issubclass(item, operation.Operation)
        and not hasattr(layers, name)
    }


def _keras_backend() -> str:
    from importlib.util import find_spec

    return next((b for b in ("jax", "torch", "tensorflow") if find_spec(b)), "tensorflow")


def choose_reference(model: Path, graph: Graph, wanted: str) -> tuple[Reference, str]:
    """Return a reference and, where it is not the one a user would expect, why.

    Args:
        model: the model file.
        graph: the model as imported, without preprocessing.
        wanted: one of ``REFERENCES``; "auto" takes onnxruntime for ONNX, Keras for Keras, numpy
            where those fail.

    Raises:
        ShadergenError: SG0301 for an unknown name, SG0702 when the one asked for cannot run it.
    """
    if wanted not in REFERENCES:
        raise ShadergenError(
            "SG0301", f"no reference is called '{wanted}'", supported=", ".join(REFERENCES)
        )
    if wanted == "numpy":
        return NumpyReference(graph), ""
    is_keras = model.suffix.lower() in (".h5", ".hdf5", ".keras")
    name = ("keras" if is_keras else "onnxruntime") if wanted == "auto" else wanted
    try:
        if name == "keras":
            return KerasReference(model, graph), ""
        return OnnxReference(model), ""
    except Exception as error:  # any failure of somebody else's loader
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        why = f"{name} cannot run this model: {said}"
        if wanted != "auto":
            raise ShadergenError(
                "SG0702",
                f"the reference {name} cannot run the model",
                why=why,
                help="--reference numpy compares with the interpreter that ships with shadergen",
            ) from None
        return NumpyReference(graph), why
