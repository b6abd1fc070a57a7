"""Models as objects: PyTorch modules, Keras models and ONNX models in memory, written to a file."""

from __future__ import annotations

import inspect
import logging
import os
import re
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShadergenError
from ..ir.types import MAP_RANK, shape_text
from .extras import need
from .framework_errors import framework
from .frontends.input_shapes import fits_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Loggers whose warnings only the exporter's authors can act on, such as that torchvision is absent.
# The last one says that it does not find the code of a value; our error names the line.
EXPORTERS = (
    "torch.onnx._internal.exporter._registration",
    "onnxscript",
    "onnx_ir",
    "torch.fx.experimental.symbolic_shapes",
)
EXPORT_FIRST = "first make torch.onnx.export work with this module, without shadergen"
KERAS_MODELS = {"keras.Model", "tf_keras.Model", "tensorflow.Model"}
SUPPORTED = "a path, a torch.nn.Module, a keras.Model, or an onnx.ModelProto"


@contextmanager
def model_file(
    model: Any,
    example: Any = None,
    dynamic: bool = False,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
) -> Iterator[Path]:
    """Yield the path of a file that holds a model, as :func:`write_model`, for a while."""
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder, naming_model(Path(folder)):
        yield write_model(model, Path(folder), example, dynamic, sizes)


@contextmanager
def naming_model(folder: Path) -> Iterator[None]:
    """Let errors of the body name the model that :func:`write_model` wrote to a temporary folder.

    ``/tmp/.../Denoiser.onnx`` becomes ``model Denoiser``.
    """
    try:
        yield
    except ShadergenError as error:
        file = re.compile(rf"{re.escape(str(folder) + os.sep)}(\w+)\.(onnx|keras)\b")
        error.where = tuple(file.sub(r"model \1", where) for where in error.where)
        for part in ("what", "why", "help"):
            setattr(error, part, file.sub(r"model \1", getattr(error, part)))
        raise


def write_model(
    model: Any,
    folder: Path,
    example: Any = None,
    dynamic: bool = False,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
) -> Path:
    """Return the path of a file that holds a model: its own, or one that is written.

    Args:
        model: a path, a ``torch.nn.Module``, a ``keras.Model``, or an ``onnx.ModelProto``.
        folder: for the file of an object.
        example: of the inputs of a PyTorch module: a tensor or an array, a tuple of them, or a
            dictionary by the names of ``forward``'s parameters. Its shapes are those of the model's
            inputs.
        dynamic: export images of a PyTorch module, which are tensors of rank 4, with dynamic
            heights and widths.
        sizes: of inputs by name, or of all as "", that an example must have.

    Raises:
        ShadergenError: SG0301 for other objects, and for an example that is missing, superfluous or
            of another size; SG0606 where a package is missing; SG0102 where the model's own
            framework cannot write it; SG0207 for a module that cannot have dynamic sizes.
    """
    path = folder / _stem(model)
    if is_module(model):
        return _export(model, example, path.with_suffix(".onnx"), dynamic, sizes or {})
    if example is not None:
        raise ShadergenError(
            "SG0301",
            "only a PyTorch module takes an example of its inputs",
            why="other models declare the shapes of their inputs",
            help="leave example out; input_size sets dynamic sizes",
        )
    if isinstance(model, (str, os.PathLike)):
        return Path(model)
    kinds = _kinds(model)
    if kinds & KERAS_MODELS:
        path = path.with_suffix(".keras")
        with framework("Keras", "save this model"):
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


def mode_note(model: Any) -> str:
    """Return a note that a PyTorch module is not compiled in the mode that it is in, or nothing."""
    if not is_module(model) or not model.training:
        return ""
    return "the module is in training mode: compiled as after eval()"


def is_module(model: Any) -> bool:
    """Whether a model is a module of PyTorch; there, Keras models are modules, too."""
    return "torch.Module" in (kinds := _kinds(model)) and not kinds & KERAS_MODELS


def _kinds(model: Any) -> set[str]:
    """Return the names of a model's classes, with those of their packages."""
    return {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(model).__mro__}


def image_size(module: Any, example: Any) -> tuple[int, int] | None:
    """Return the height and width of the first image of an example, None without an image."""
    for value in _bound(module, example).arguments.values():
        for each in value if isinstance(value, tuple) else (value,):
            shape: Sequence[int] = getattr(each, "shape", ())
            if len(shape) == MAP_RANK:
                return int(shape[2]), int(shape[3])
    return None


def _bound(module: Any, example: Any) -> inspect.BoundArguments:
    """Return an example by the parameters of ``forward``: the build's inputs are in their order."""
    named = example if isinstance(example, dict) else {}
    listed = example if isinstance(example, (tuple, list)) else (example,)
    return inspect.signature(module.forward).bind(*(() if named else listed), **named)


def _check_sizes(given: inspect.BoundArguments, sizes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse sizes that an example does not have.

    Raises:
        ShadergenError: SG0301.
    """
    named = {name: getattr(value, "shape", ()) for name, value in given.arguments.items()}
    shapes = {name: tuple(map(int, shape)) for name, shape in named.items() if shape}
    for name, size in sizes.items():
        if (name and name not in shapes) or not shapes:
            continue  # the model's file tells which inputs there are
        if not any(fits_shape(size, s) for n, s in shapes.items() if name in ("", n)):
            raise ShadergenError(
                "SG0301",
                f"input_size {name and name + '='}{shape_text(size)} is not the example's size",
                where=", ".join(f"example of '{n}', {shape_text(s)}" for n, s in shapes.items()),
                why="PyTorch exports a module at the size of the example",
                help=f"pass an example of size {shape_text(size)}; or "
                'input_size="dynamic" for all sizes',
            )


def _export(
    module: Any, example: Any, path: Path, dynamic: bool, sizes: Mapping[str, tuple[int, ...]]
) -> Path:
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
        # PyTorch cannot export with an example that is a part of another tensor, and after an error
        # it leaves marks of dynamic sizes on the example.
        return value.detach().contiguous() if isinstance(value, torch.Tensor) else value

    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        with _without_warnings(), torch.no_grad():
            with framework("PyTorch", "run this module on the example"):
                given = _bound(module, example)
                args = tuple(map(tensor, given.args))
                kwargs = {name: tensor(v) for name, v in given.kwargs.items()}
                names = _output_names(module, module(*args, **kwargs), given)
            if not dynamic:
                _check_sizes(given, sizes)
            how = " with dynamic heights and widths" if dynamic else ""
            exporting = framework("PyTorch", f"export this module{how}", EXPORT_FIRST)
            with exporting, _restored(module), _without_output():
                if dynamic:
                    _write_dynamic(module, args, kwargs, _dynamic_shapes(given), path, names)
                else:
                    _write_fixed(module, args, kwargs, path, names)
    finally:
        for each, training in modes:
            each.training = training
    return path


def _output_names(module: Any, result: Any, given: inspect.BoundArguments) -> list[str] | None:
    """Return the names that a module gives its results: of a dictionary or a named tuple.

    None leaves the names to the exporter, so where one is the name of an input or a weight.
    """
    import torch

    fields = result if isinstance(result, Mapping) else getattr(result, "_asdict", dict)()
    names = list(fields)
    named = all(isinstance(name, str) and name for name in names)
    flat = all(isinstance(value, torch.Tensor) for value in fields.values())
    taken = {*given.arguments, *module.state_dict()}
    return names if names and named and flat and taken.isdisjoint(names) else None


def _write_dynamic(
    module: Any, args: Any, kwargs: Any, shapes: Any, path: Path, names: list[str] | None
) -> None:
    """Write a module with dynamic sizes (:func:`_dynamic_shapes`)."""
    import torch

    program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
    if shapes:
        _check_dynamic(program)
    torch.onnx.export(program, (), path, dynamo=True, verbose=False, output_names=names)


def _write_fixed(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    path: Path,
    names: list[str] | None,
) -> None:
    """Write a module at the example's sizes.

    ``torch.export`` runs the module on tensors without data, and fails for modules that assign
    weights in ``forward``. :func:`_write_traced` then writes the module if it can.
    """
    import torch

    try:
        with _restored(module):
            program = torch.export.export(module, args, kwargs, strict=False)
            torch.onnx.export(program, (), path, dynamo=True, verbose=False, output_names=names)
    except Exception:
        if not _write_traced(module, args, kwargs, path, names):
            raise


def _write_traced(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    path: Path,
    outputs: list[str] | None,
) -> bool:
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
            with warnings.catch_warnings(), _without_graphs():
                warnings.simplefilter("error", torch.jit._trace.TracerWarning)
                torch.onnx.export(
                    module,
                    given,
                    path,
                    kwargs=named,
                    dynamo=False,
                    input_names=names,
                    output_names=outputs,
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


@contextmanager
def _without_output() -> Iterator[None]:
    """Print nothing: of a module that it cannot export, PyTorch prints the whole graph."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


@contextmanager
def _without_graphs() -> Iterator[None]:
    """Keep PyTorch's older exporter from printing the graph of a failure, from C++."""
    import torch

    log = getattr(torch._C, "_jit_onnx_log", None)
    if log is None:
        yield
        return
    torch._C._jit_onnx_log = lambda *texts: None
    try:
        yield
    finally:
        torch._C._jit_onnx_log = log


def _dynamic_shapes(given: inspect.BoundArguments) -> dict[str, Any] | None:
    """Return what is dynamic of a module's inputs: heights and widths of images.

    Otherwise an export holds the example's sizes as numbers wherever ``forward`` computes with
    them. Of a size that cannot change, PyTorch says so.
    """
    from torch.export import Dim

    def of(value: Any) -> Any:
        is_image = len(getattr(value, "shape", ())) == MAP_RANK
        return {2: Dim.DYNAMIC, 3: Dim.DYNAMIC} if is_image else None

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
                f"{name} to {size} needs an input of fixed size",
                why="PyTorch exports pooling windows of fixed size, computed from the example",
                help="omit input_size: the build then has the example's size",
            )


def _stem(model: Any) -> str:
    """Return what to call the file: the name of the model, or of its class."""
    name = getattr(model, "name", None)
    text = name if isinstance(name, str) and name else type(model).__name__
    return re.sub(r"\W+", "_", text)[:60] or "model"
