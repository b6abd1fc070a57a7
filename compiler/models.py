"""Models as objects: PyTorch modules, Keras models and ONNX models in memory, written to a file."""

from __future__ import annotations

import inspect
import re
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from .extras import need

if TYPE_CHECKING:
    from collections.abc import Iterator

SUPPORTED = "a path, a torch.nn.Module, a keras.Model, or an onnx.ModelProto"


@contextmanager
def model_file(model: Any, example: Any = None) -> Iterator[Path]:
    """Yield the path of a file that holds a model; the file of an object exists while in use.

    Args:
        model: a path, a ``torch.nn.Module``, a ``keras.Model``, or an ``onnx.ModelProto``.
        example: of the inputs of a PyTorch module: a tensor or an array, a tuple of them, or a
            dictionary by the names of ``forward``'s parameters. Its shapes are those of the model's
            inputs.

    Raises:
        ShadergenError: SG0301 for other objects, and for an example that is missing or superfluous;
            SG0606 where a package is missing; SG0102 where the model's own framework cannot write
            it.
    """
    if isinstance(model, (str, Path)):
        _no_example(example)
        yield Path(model)
        return
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        yield _written(model, example, Path(folder) / _stem(model))


def _written(model: Any, example: Any, path: Path) -> Path:
    """Write a model to a file; the suffix of the path is added."""
    kinds = {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(model).__mro__}
    if "torch.Module" in kinds:
        return _export(model, example, path.with_suffix(".onnx"))
    _no_example(example)
    if {"keras.Model", "tf_keras.Model", "tensorflow.Model"} & kinds:
        path = path.with_suffix(".keras")
        with _framework("Keras", "save this model"):
            model.save(path)
        return path
    if "onnx.ModelProto" in kinds:
        import onnx

        path = path.with_suffix(".onnx")
        large = model.ByteSize() >= onnx.checker.MAXIMUM_PROTOBUF
        onnx.save(model, path, save_as_external_data=large)
        return path
    raise ShadergenError(
        "SG0301", f"a model cannot be of the type {type(model).__name__}", supported=SUPPORTED
    )


def _export(module: Any, example: Any, path: Path) -> Path:
    """Export a PyTorch module in evaluation mode to ONNX; leave its own modes as they were."""
    if example is None:
        raise ShadergenError(
            "SG0301",
            f"the PyTorch module {type(module).__name__} needs an example of its inputs",
            why="PyTorch exports a module by following one run of it",
            help="add one of the right shape, such as example=torch.rand(1, 3, 360, 640)",
        )
    need("onnxscript", "onnxscript", "exporting a PyTorch module")
    import torch

    def tensor(value: Any) -> Any:
        return torch.from_numpy(value) if isinstance(value, np.ndarray) else value

    named = example if isinstance(example, dict) else {}
    listed = example if isinstance(example, (tuple, list)) else (example,)
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of the exporter's own parts
            with _framework("PyTorch", "run this module on the example"):
                # In the order of the parameters: the build's inputs are in the order of these.
                given = inspect.signature(module.forward).bind(*(() if named else listed), **named)
                args = tuple(map(tensor, given.args))
                kwargs = {name: tensor(v) for name, v in given.kwargs.items()}
                module(*args, **kwargs)
            with _framework("PyTorch", "export this module"):
                torch.onnx.export(module, args, path, kwargs=kwargs, dynamo=True, verbose=False)
    finally:
        for each, training in modes:
            each.training = training
    return path


@contextmanager
def _framework(name: str, verb: str) -> Iterator[None]:
    """Say of an error that it is the framework's, and what was its first cause."""
    try:
        yield
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(first)).strip()
        raise ShadergenError(
            "SG0102",
            f"{name} cannot {verb}",
            why=f"{type(first).__name__}: {text.partition(chr(10))[0]}",
            help=f"make it work with {name} alone first",
        ) from error


def _no_example(example: Any) -> None:
    if example is not None:
        raise ShadergenError(
            "SG0301",
            "only a PyTorch module takes an example of its inputs",
            why="other models declare the shapes of their inputs",
            help="leave example out; input_size sets sizes that a model leaves open",
        )


def _stem(model: Any) -> str:
    """Return what to call the file: the name of the model, or of its class."""
    name = getattr(model, "name", None)
    text = name if isinstance(name, str) and name else type(model).__name__
    return re.sub(r"\W+", "_", text)[:60] or "model"
