"""Reference implementations that a build is compared with; none shares code with the kernels."""

from __future__ import annotations

import os
import re
import warnings
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ShadergenError
from ..ir import reference as interpreter
from .choices import REFERENCES
from .frontends.input_shapes import model_shapes
from .frontends.signatures import is_keras
from .tensorflow_reference import VARIABLE, TensorFlowReference, named_python

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx.onnx_ml_pb2 import ModelProto

    from ..ir.graph import Graph
    from .frontends import Request

EXTERNAL_DATA = "session.model_external_initializers_file_folder_path"
CONFIGURATION = re.compile(r"\{[^{}]*\}")
LATEST_IR = re.compile(r"max supported IR version: (\d+)")


class Reference(Protocol):
    """Runs a model on arrays in the model's own shapes.

    Attributes:
        name: for people.
        resized: whether it runs at another size than the model declares.
    """

    name: str
    resized: bool

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the outputs by the graph's names."""


class NumpyReference:
    """The IR interpreter, in float64: independent of passes and kernels, not of the frontend."""

    name = "numpy"
    resized = False  # every size is one of the graph

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        logical = interpreter.as_logical(self.graph, inputs)
        outputs = interpreter.evaluate_graph(self.graph, logical)
        return {o.name: outputs[o.name].transpose(o.port.axes) for o in self.graph.outputs}


class OnnxReference:
    """onnxruntime on the CPU, with its own optimisations off.

    Args:
        model: the model file.
        graph: the model as imported: its sizes may replace declared ones.
        request: where to cut the model.
    """

    name = "onnxruntime"

    def __init__(self, model: Path, graph: Graph, request: Request) -> None:
        from .frontends.onnx.importing.cut import cut
        from .frontends.onnx.read.model import parse_model

        self.resized = False
        part: ModelProto | None = None
        if request.inputs or request.outputs:
            part = cut(parse_model(model), request).model
        if request.sizes:
            whole = parse_model(model) if part is None else part
            if _resize(whole, model_shapes(graph.inputs)):
                part, self.resized = whole, True
        try:
            self.session = _session(model, part)
        except Exception as error:  # it has no type of its own for what can be mended here
            latest = LATEST_IR.search(str(error))
            if latest is None:
                raise
            part = parse_model(model) if part is None else part
            part.ir_version = int(latest[1])  # says how the file is written, not what it computes
            self.session = _session(model, part)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        feed = {i.name: _fed(inputs[i.name], i) for i in self.session.get_inputs()}
        names = [o.name for o in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, feed), strict=True))


def _resize(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Put the sizes of imported inputs in place of those that a model declares, if they differ."""
    replaced = False
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes.get(info.name, ()), strict=False):
            if dim.HasField("dim_value") and dim.dim_value != size:
                dim.dim_value, replaced = size, True
    if replaced:  # the declared shapes of other values are no longer right
        del model.graph.value_info[:]
        for info in model.graph.output:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
    return replaced


def _session(model: Path, part: ModelProto | None) -> Any:
    """Open a model with ONNX Runtime, or what was made of it in memory."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what fails is raised, too
    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    source: str | bytes = str(model)
    if part is not None:
        source = part.SerializeToString()
        options.add_session_config_entry(EXTERNAL_DATA, str(model.resolve().parent))
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _fed(array: NDArray[Any], declared: Any) -> NDArray[Any]:
    """Return an array as ONNX Runtime declares its input; a list of one number may be a scalar."""
    kind = declared.type.removeprefix("tensor(").removesuffix(")")
    dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
    typed = np.asarray(array, dtype)
    if len(declared.shape) == typed.ndim:
        return typed
    shaped: NDArray[Any] = typed.reshape(declared.shape)
    return shaped


class KerasReference:
    """Keras 3 on whichever backend it finds; models it cannot load are no user's mistake."""

    name = "keras"

    def __init__(self, model: Path, graph: Graph, request: Request) -> None:
        os.environ.setdefault("KERAS_BACKEND", _keras_backend())
        import keras

        self.model = keras.models.load_model(
            model, compile=False, custom_objects=_keras_operations()
        )
        self.resized = _resized(self.model, model_shapes(graph.inputs))
        if request.inputs or request.outputs:
            self.model = _keras_part(self.model, graph, request, self.resized)
        elif self.resized:
            functional = getattr(self.model, "_functional", self.model)
            self.model = _Replay(
                self.model, self.model.inputs, self.model.outputs, functional._outputs_struct
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


def _keras_part(model: Any, graph: Graph, request: Request, resized: bool) -> Any:
    """Return the part of a Keras model that the graph was made of.

    Raises:
        ValueError: when Keras does not name it, as in models nested within inputs' layers.
    """
    import keras

    names = {layer.name for layer in model.layers}
    inputs = [
        _keras_result(model, i.name, False)
        if i.name in names or i.name in request.inputs
        else model.inputs[0]  # a Sequential model does not list its input among its layers
        for i in graph.inputs
    ]
    outputs = [_keras_result(model, name, True) for name in request.outputs] or model.outputs
    if request.inputs or resized:
        return _Replay(model, inputs, outputs)
    return keras.Model(inputs, outputs)


class _Replay:
    """The calls of a Keras model between some tensors, which need not all be inputs.

    The model itself would check the sizes of its inputs against those that it declares.

    Args:
        model: a model of layers.
        inputs: tensors of the model.
        outputs: tensors of the model.
        structure: what the outputs are given in; None: a list.
    """

    def __init__(
        self, model: Any, inputs: list[Any], outputs: list[Any], structure: Any = None
    ) -> None:
        levels = getattr(model, "_functional", model)._nodes_by_depth
        self.nodes = [node for depth in sorted(levels, reverse=True) for node in levels[depth]]
        self.inputs = inputs
        self.outputs = outputs
        self.structure = structure

    def __call__(self, given: Any, training: bool) -> Any:
        import keras

        values = dict(zip(map(id, self.inputs), keras.tree.flatten(given), strict=True))
        for node in self.nodes:
            ready = all(id(x) in values for x in node.input_tensors)
            if node.is_input or not ready or any(id(y) in values for y in node.outputs):
                continue
            args, kwargs = node.arguments.fill_in(values)
            results = keras.tree.flatten(node.operation(*args, **kwargs))
            values.update(zip(map(id, node.outputs), results, strict=True))
        results = [values[id(y)] for y in self.outputs]
        if self.structure is None:
            return results
        return keras.tree.pack_sequence_as(self.structure, results)


def _resized(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether an imported input has a number where a Keras model declares another."""
    return any(
        own not in (None, size)
        for tensor, shape in zip(model.inputs, shapes.values(), strict=False)
        for own, size in zip(tensor.shape[1:], shape[1:], strict=False)
    )


def _keras_result(model: Any, name: str, nested: bool) -> Any:
    """Return a layer's result by name, name:call or name:result."""
    import keras

    layers = {layer.name: layer for layer in model.layers}
    name, *numbers = name.split(":")
    if name in layers:
        calls = layers[name]._inbound_nodes
        call = int(numbers.pop(0)) if len(calls) > 1 and numbers else 0
        results = keras.tree.flatten(calls[call].outputs if calls else layers[name].output)
        return results[int(numbers[0]) if numbers else 0]
    outer, _, inner = name.partition("/")
    if not nested or outer not in layers or not isinstance(layers[outer], keras.Model):
        raise ValueError(f"'{name}' is nested in itself")
    inside = _keras_result(layers[outer], ":".join([inner, *numbers]), True)
    part = keras.Model(layers[outer].inputs, inside)
    return part(keras.tree.flatten(layers[outer].input))


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


def shortened(error: Exception) -> str:
    """Return a message in one line; of a long one, its ends: what failed, and the cause, last.

    Keras wraps one message in another and prints whole configurations, which are left out.
    """
    said = " ".join(str(error).split()).rpartition("Exception encountered: ")[2]
    found = 1
    while found:  # the innermost first
        said, found = CONFIGURATION.subn("...", said)
    said = said or type(error).__name__
    return said if len(said) <= 400 else f"{said[:120]} ... {said[-270:]}"


def choose_reference(
    model: Path, graph: Graph, wanted: str, request: Request
) -> tuple[Reference, str]:
    """Return a reference and, where it is not the one a user would expect, why.

    Args:
        model: the model file.
        graph: the model as imported, without preprocessing.
        request: what it was imported with; where it cuts the model, the reference is cut as well.
        wanted: one of ``REFERENCES``; "auto" takes onnxruntime for ONNX, Keras for Keras,
            TensorFlow where Keras fails and there is one, numpy where those fail.

    Raises:
        ShadergenError: SG0301 for an unknown name, SG0702 when the one asked for cannot run it.
    """
    if wanted not in REFERENCES:
        raise ShadergenError(
            "SG0301", f"no reference is called '{wanted}'", supported=", ".join(REFERENCES)
        )
    if wanted == "numpy":
        return NumpyReference(graph), ""
    usual = ["keras", "tensorflow"] if is_keras(model) else ["onnxruntime"]
    if wanted not in ("auto", *usual):
        raise ShadergenError(
            "SG0702",
            f"the reference {wanted} cannot run the model",
            why=f"it is {'a Keras' if is_keras(model) else 'an ONNX'} model",
            help=f"use --reference {usual[0]}, or --reference numpy, shadergen's own interpreter",
        )
    failures: list[str] = []
    for name in usual if wanted == "auto" else [wanted]:
        if wanted == "auto" and name == "tensorflow" and not named_python():
            failures.append(
                f"to check how the model was read, set {VARIABLE} to a Python that has "
                "TensorFlow 2.15, which loads older files"
            )
            continue
        try:
            if name == "onnxruntime":
                return OnnxReference(model, graph, request), ""
            kind = KerasReference if name == "keras" else TensorFlowReference
            return kind(model, graph, request), "\n".join(failures)
        except ModuleNotFoundError as error:
            failures.append(f"{name} is not installed ({error}): pip install {name}")
        except Exception as error:  # any failure of somebody else's loader
            failures.append(f"{name} cannot run this model: {shortened(error)}")
    if wanted != "auto":
        raise ShadergenError(
            "SG0702",
            f"the reference {wanted} cannot run the model",
            why=failures[0],
            help="--reference numpy compares with the interpreter that ships with shadergen",
        )
    return NumpyReference(graph), "\n".join(failures)
