"""Models as objects: PyTorch modules, Keras models and ONNX models in memory, written to a file."""

from __future__ import annotations

import inspect
import logging
import os
import re
import tempfile
import warnings
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from .extras import need

if TYPE_CHECKING:
    from collections.abc import Iterator

# Loggers whose warnings only the exporter's authors can act on, such as that torchvision is absent.
EXPORTERS = ("torch.onnx._internal.exporter._registration", "onnxscript", "onnx_ir")
SUPPORTED = "a path, a torch.nn.Module, a keras.Model, or an onnx.ModelProto"


@contextmanager
def model_file(model: Any, example: Any = None, dynamic: bool = False) -> Iterator[Path]:
    """Yield the path of a file that holds a model, as :func:`write_model`, for a while."""
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        yield write_model(model, Path(folder), example, dynamic)


def write_model(model: Any, folder: Path, example: Any = None, dynamic: bool = False) -> Path:
    """Return the path of a file that holds a model: its own, or one that is written.

    Args:
        model: a path, a ``torch.nn.Module``, a ``keras.Model``, or an ``onnx.ModelProto``.
        folder: for the file of an object.
        example: of the inputs of a PyTorch module: a tensor or an array, a tuple of them, or a
            dictionary by the names of ``forward``'s parameters. Its shapes are those of the model's
            inputs.
        dynamic: export images of a PyTorch module, which are tensors of rank 4, with dynamic
            heights and widths.

    Raises:
        ShadergenError: SG0301 for other objects, and for an example that is missing or superfluous;
            SG0606 where a package is missing; SG0102 where the model's own framework cannot write
            it; SG0207 for a module that cannot have dynamic sizes.
    """
    kinds = {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(model).__mro__}
    path = folder / _stem(model)
    is_keras = bool({"keras.Model", "tf_keras.Model", "tensorflow.Model"} & kinds)
    if "torch.Module" in kinds and not is_keras:  # on PyTorch, Keras models are modules, too
        return _export(model, example, path.with_suffix(".onnx"), dynamic)
    if example is not None:
        raise ShadergenError(
            "SG0301",
            "only a PyTorch module takes an example of its inputs",
            why="other models declare the shapes of their inputs",
            help="leave example out; input_size sets dynamic sizes",
        )
    if isinstance(model, (str, os.PathLike)):
        return Path(model)
    if is_keras:
        path = path.with_suffix(".keras")
        with _framework("Keras", "save this model"):
            model.save(path)
        return path
    if "onnx.ModelProto" in kinds:
        import onnx

        path = path.with_suffix(".onnx")
        large = model.ByteSize() >= onnx.checker.MAXIMUM_PROTOBUF
        if large:  # saving moves the weights out of the model: out of a copy
            whole, model = model, onnx.ModelProto()
            model.CopyFrom(whole)
        onnx.save(model, path, save_as_external_data=large)
        return path
    raise ShadergenError(
        "SG0301", f"a model cannot be of the type {type(model).__name__}", supported=SUPPORTED
    )


def _export(module: Any, example: Any, path: Path, dynamic: bool) -> Path:
    """Export a PyTorch module in evaluation mode to ONNX; leave its attributes as they were."""
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
        value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        # PyTorch cannot export with an example that is a part of another tensor.
        return value.contiguous() if isinstance(value, torch.Tensor) else value

    named = example if isinstance(example, dict) else {}
    listed = example if isinstance(example, (tuple, list)) else (example,)
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        with _without_warnings(), torch.no_grad():
            with _framework("PyTorch", "run this module on the example"):
                # In the order of the parameters: the build's inputs are in the order of these.
                given = inspect.signature(module.forward).bind(*(() if named else listed), **named)
                args = tuple(map(tensor, given.args))
                kwargs = {name: tensor(v) for name, v in given.kwargs.items()}
                module(*args, **kwargs)
            sizes = " with dynamic heights and widths" if dynamic else ""
            with _framework("PyTorch", f"export this module{sizes}"), _restored(module):
                if dynamic:
                    _write_dynamic(module, args, kwargs, _dynamic_shapes(given), path)
                else:
                    _write_fixed(module, args, kwargs, path)
    finally:
        for each, training in modes:
            each.training = training
    return path


def _write_dynamic(module: Any, args: Any, kwargs: Any, shapes: Any, path: Path) -> None:
    """Write a module with dynamic sizes (:func:`_dynamic_shapes`)."""
    import torch

    program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
    if shapes:
        _check_dynamic(program)
    torch.onnx.export(program, (), path, dynamo=True, verbose=False)


def _write_fixed(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], path: Path) -> None:
    """Write a module at the example's sizes.

    ``torch.export`` runs the module on tensors without data, and fails for modules that assign
    weights in ``forward``. :func:`_write_traced` then writes the module if it can.
    """
    import torch

    try:
        with _restored(module):
            program = torch.export.export(module, args, kwargs, strict=False)
            torch.onnx.export(program, (), path, dynamo=True, verbose=False)
    except Exception:
        if not _write_traced(module, args, kwargs, path):
            raise


def _write_traced(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], path: Path) -> bool:
    """Write a module by PyTorch's older exporter; return whether the file is right for all inputs.

    That exporter records one run on data. The file may then hold values of the example. It warns of
    branches, but not of ``x.data`` or ``x.tolist()``. Runs on the example and on random numbers
    must therefore give the same file.
    """
    import torch

    if not all(torch.is_tensor(v) and v.is_floating_point() for v in (*args, *kwargs.values())):
        return False
    names = list(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
    random = tuple(map(torch.rand_like, args)), {n: torch.rand_like(v) for n, v in kwargs.items()}
    written = []
    for given, named in ((args, kwargs), random):
        try:
            with warnings.catch_warnings(), redirect_stdout(StringIO()):
                warnings.simplefilter("error", torch.jit._trace.TracerWarning)
                torch.onnx.export(
                    module, given, path, kwargs=named, dynamo=False, input_names=names
                )
        except Exception:
            return False
        written.append(path.read_bytes())
    return written[0] == written[1]


@contextmanager
def _restored(module: Any) -> Iterator[None]:
    """Restore the attributes and weights of a module and its parts after an export.

    ``forward`` may assign some. During an export these are tensors without data, which later runs
    cannot read.
    """
    weights = [(tensor, tensor.data) for tensor in (*module.parameters(), *module.buffers())]
    kept = [
        (vars(m), {n: dict(v) if isinstance(v, dict) else v for n, v in vars(m).items()})
        for m in module.modules()
    ]
    try:
        yield
    finally:
        for tensor, data in weights:
            tensor.data = data
        for own, before in kept:
            for name, value in before.items():
                if isinstance(value, dict) and isinstance(own.get(name), dict):
                    own[name].clear()
                    own[name].update(value)
                else:
                    own[name] = value
            for name in own.keys() - before.keys():
                del own[name]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence warnings of the exporter's own parts; errors are raised as ever."""
    loggers = [logging.getLogger(name) for name in EXPORTERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _dynamic_shapes(given: inspect.BoundArguments) -> dict[str, Any] | None:
    """Return what is dynamic of a module's inputs: heights and widths of images.

    Otherwise an export holds the example's sizes as numbers wherever ``forward`` computes with
    them. Of a size that cannot change, PyTorch says so.
    """
    from torch.export import Dim

    def of(value: Any) -> Any:
        return {2: Dim.DYNAMIC, 3: Dim.DYNAMIC} if len(getattr(value, "shape", ())) == 4 else None

    shapes = {
        name: tuple(map(of, value)) if isinstance(value, tuple) else of(value)
        for name, value in given.arguments.items()
    }
    return shapes if any(shapes.values()) else None


def _check_dynamic(program: Any) -> None:
    """Refuse what PyTorch would export as it is at the example's size, without a word.

    Raises:
        ShadergenError: SG0207 for adaptive pooling to more than one element.
    """
    for node in program.graph.nodes:
        name = str(node.target).partition(".")[2].partition(".")[0]
        if name.startswith("adaptive_") and any(size != 1 for size in node.args[1]):
            size = "x".join(map(str, node.args[1]))
            raise ShadergenError(
                "SG0207",
                f"{name} to {size} needs a fixed size",
                why="PyTorch exports pooling windows of fixed size, computed from the example",
                help="leave input_size out: the build then takes the example's size",
            )


@contextmanager
def _framework(name: str, verb: str) -> Iterator[None]:
    """Say of an error that it is the framework's, and what was its first cause."""
    try:
        yield
    except ShadergenError:
        raise
    except Exception as error:
        first: BaseException = error
        while first.__cause__ is not None:
            first = first.__cause__
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(first)).strip()
        raise ShadergenError(
            "SG0102",
            f"{name} cannot {verb}",
            why=f"{type(first).__name__}: {text.partition(chr(10))[0]}",
            help=f"first make this work in {name} without shadergen",
        ) from error


def _stem(model: Any) -> str:
    """Return what to call the file: the name of the model, or of its class."""
    name = getattr(model, "name", None)
    text = name if isinstance(name, str) and name else type(model).__name__
    return re.sub(r"\W+", "_", text)[:60] or "model"
