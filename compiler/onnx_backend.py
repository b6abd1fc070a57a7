"""An ``onnx.backend.base.Backend``: ONNX models run by the shaders that they compile to.

>>> import numpy, onnx
>>> from shadergen.compiler import onnx_backend
>>> model = onnx.parser.parse_model(
...     '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
... )
>>> rep = onnx_backend.prepare(model)
>>> rep.run([numpy.array([-1, 2], numpy.float32)]).y
array([0., 2.], dtype=float32)

Every input is uploaded to a texture and every result read from one, on OpenGL ES or WebGPU. All
models of the process share a context. A model is compiled at its first run, when dynamic sizes are
known, and again when they change.

Operands such as Reshape's shape must be known when compiling. Inputs that only serve as such
operands are compiled in if an operator needs them, and again when they change. Other inputs never
are, unless they are empty. :attr:`ShadergenRep.fixed` lists the compiled-in inputs.

Models that are linear in an input accept float64 values beyond float32 (``wide_float64``).

Strings are numbered for each run, and their numbers uploaded: shaders move and compare them.
"""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ..backends.schedule import label
from ..backends.writer import write_build
from ..errors import ShadergenError, did_you_mean
from ..records import dataclass, replace
from ..runtime_glue.python.loading import load
from .compilation import compile_graph, import_model
from .frontends import ValueNeededError
from .frontends.onnx.importing.parameter_inputs import data_inputs
from .onnx_values import declared, given, has_dynamic_shape, numbered
from .options import Options
from .runtimes import GLES, WEBGPU, chosen, default_device, runtime_of, shared_context
from .wide_float64.parts import beyond_float32
from .wide_float64.run import Run, WideRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ..ir.graph import Graph
    from .onnx_values import Arrays
    from .runtimes import Context


@dataclass(frozen=True)
class _Program:
    """A compiled model on GL, good for inputs of these shapes and these values.

    Attributes:
        runner: runs it.
        inputs: what to upload.
        outputs: what the model returns.
        read: those of the inputs that the shaders read.
        shapes: of all inputs of the model.
        fixed: the inputs that were compiled in.
    """

    runner: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    read: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    fixed: Mapping[str, NDArray[Any]]

    def fits(self, arrays: Arrays) -> bool:
        return self.shapes == {name: a.shape for name, a in arrays.items()} and all(
            np.array_equal(value, arrays[name], equal_nan=value.dtype.kind == "f")
            for name, value in self.fixed.items()
        )

    def run(self, arrays: Arrays) -> Arrays:
        for name in self.inputs:
            array = arrays[name]
            numpy_has_it = array.dtype.kind in "biuf"  # not bfloat16 and the like
            self.runner.upload(label(name), array if numpy_has_it else array.astype(np.float32))
        self.runner.run()
        self.runner.check()
        return {name: self.runner.read(label(name)) for name in self.outputs}


class ShadergenRep(BackendRep):
    """A model, ready to run. Made by :meth:`ShadergenBackend.prepare`.

    Args:
        model: the model; its external data must have been read in.
        options: how to compile it.
        context: where to run it.
    """

    def __init__(self, model: ModelProto, options: Options, context: Context) -> None:
        self._model = model
        self._options = options
        self._context = context
        weights = {t.name for t in model.graph.initializer}
        weights.update(t.values.name for t in model.graph.sparse_initializer)
        self._inputs = {i.name: i for i in model.graph.input if i.name not in weights}
        self._data = data_inputs(model.graph)
        self._program: _Program | None = None
        self._wide = WideRunner(model)
        self._releases: list[Any] = []

    @property
    def fixed(self) -> tuple[str, ...]:
        """The inputs that the last run compiled in."""
        return tuple(self._program.fixed) if self._program else ()

    @property
    def read(self) -> tuple[str, ...]:
        """The inputs that the last run's shaders read: none where all is known when compiling."""
        return self._program.read if self._program else ()

    @property
    def unread(self) -> tuple[str, ...]:
        """Inputs with numbers to compute with that the compiled model does not read."""
        shapes = self._program.shapes if self._program else {}
        return tuple(n for n in shapes if n in self._data - {*self.read} and 0 not in shapes[n])

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model once.

        Args:
            inputs: arrays in the order of the model's inputs that are no initialisers, or by name.
            kwargs: ignored.

        Returns:
            A named tuple, which takes names for indices too, of arrays of the declared types.

        Raises:
            ShadergenError: when the model cannot be compiled, or the arrays do not fit it.
        """
        arrays, texts = numbered(self._arrays(inputs))
        if self._program is None or not self._program.fits(arrays):
            self.close()
            self._program = self._kept(self._compiled(arrays))
        wide = beyond_float32({name: arrays[name] for name in self._program.inputs})
        results = self._run_wide(arrays, wide) if wide else self._program.run(arrays)
        outputs = self._model.graph.output
        typed = (declared(results[o.name], o, texts) for o in outputs)
        result: tuple[Any, ...] = namedtupledict("Outputs", [o.name for o in outputs])(*typed)
        return result

    def close(self) -> None:
        """Free the model's GL objects; the next run compiles it again."""
        for release in self._releases:
            release()
        self._releases.clear()
        self._program, self._wide = None, WideRunner(self._model)

    def _kept(self, program: _Program) -> _Program:
        self._releases.append(weakref.finalize(self, program.runner.close))
        return program

    def _run_wide(self, arrays: Arrays, wide: frozenset[str]) -> Arrays:
        """Run the model on arrays of which some hold numbers beyond float32."""
        program = self._program
        assert program is not None

        def compiled(change: Callable[[Graph], Graph]) -> Run:
            return self._kept(self._try(arrays, program.fixed, change)).run

        return self._wide.run(arrays, wide, program.run, compiled)

    def _arrays(self, inputs: Any) -> Arrays:
        """Return the arrays by name."""
        if isinstance(inputs, dict):
            named = dict(inputs)
        else:
            listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            if len(listed) > len(self._inputs):
                raise ShadergenError(
                    "SG0605",
                    f"the model takes {len(self._inputs)} arrays, not {len(listed)}",
                    supported=", ".join(self._inputs),
                )
            named = dict(zip(self._inputs, listed, strict=False))
        for name in (*self._inputs, *named):
            if name not in named or name not in self._inputs:
                raise ShadergenError(
                    "SG0605",
                    f"input '{name}' " + ("has no array" if name in self._inputs else "is unknown"),
                    supported=", ".join(self._inputs),
                    help=did_you_mean(name, self._inputs),
                )
        return {name: given(named[name], info) for name, info in self._inputs.items()}

    def _compiled(self, arrays: Arrays) -> _Program:
        """Compile the model for these arrays."""
        fixed = {name: a for name, a in arrays.items() if not a.size}  # textures hold something
        while True:
            try:
                return self._try(arrays, fixed)
            except ValueNeededError as error:
                needed = {name for name in error.inputs if name not in fixed}
                if not needed or needed & self._data:
                    raise
                fixed |= {name: arrays[name].copy() for name in sorted(needed)}

    def _try(
        self,
        arrays: Arrays,
        fixed: Mapping[str, NDArray[Any]],
        change: Callable[[Graph], Graph] = lambda graph: graph,
    ) -> _Program:
        """Compile the model, or a change of its graph."""
        shapes = {name: a.shape for name, a in arrays.items()}
        undeclared = [n for n, i in self._inputs.items() if has_dynamic_shape(i) and n not in fixed]
        dynamic = {n: shapes[n] for n in undeclared}
        options = replace(self._options, input_size=dynamic, input_value=fixed, strings=True)
        graph = change(import_model(self._model, options))
        graph, files, _ = compile_graph(graph, options)
        with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
            write_build(files, Path(folder) / "build")
            build = load(Path(folder) / "build")
        runner = self._context.runner(build)
        try:
            runner.init()
        except BaseException:
            runner.close()
            raise
        read = tuple(i.name for i in graph.inputs if graph.uses[i])
        inputs, outputs = (tuple(p.name for p in ports) for ports in (graph.inputs, graph.outputs))
        return _Program(runner, inputs, outputs, read, shapes, fixed)


class ShadergenBackend(Backend):
    """Runs ONNX models on OpenGL ES or WebGPU."""

    @classmethod
    def prepare(
        cls,
        model: ModelProto,
        device: str = "CPU",
        options: Options | None = None,
        runtime: str = "auto",
        adapter: str = "",
        **kwargs: Any,
    ) -> ShadergenRep:
        """Return a model that can be run; it is compiled when it first is.

        Args:
            model: from ``onnx.load``, or made in memory.
            device: "CPU", for that is where the arrays lie.
            options: how to compile; sizes and values of inputs are those of the arrays.
            runtime: "gles", "webgpu", or "auto": what the options' device asks for. Without
                options, the first one that this machine can run.
            adapter: a part of the name of the adapter to run on.
            kwargs: ignored.

        Raises:
            ShadergenError: SG0301 for another device, or a runtime that cannot run the options'
                device; SG0601 without an adapter; SG0606 without PyOpenGL or wgpu.
        """
        if not cls.supports_device(device):
            raise ShadergenError("SG0301", f"there is no device '{device}'", supported="CPU")
        every = (GLES, WEBGPU) if options is None else (runtime_of(options.device),)
        what = f"a build for --device {options.device}" if options else "a model"
        context = shared_context(chosen(runtime, every, what), adapter)
        if options is None:
            options = Options(validate=False, device=default_device(context.runtime))
        return ShadergenRep(model, options, context)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node.

        Args:
            node: the node.
            inputs: arrays for those of its inputs that have a name, in order.
            device: as for :meth:`prepare`.
            outputs_info: element type and shape of each output; inferred if not given.
            kwargs: ``opset_version``, by default the latest; the rest as for :meth:`prepare`.

        Raises:
            ShadergenError: as :meth:`ShadergenRep.run`.
        """
        model = _model_of(node, inputs, outputs_info, kwargs.pop("opset_version", None))
        rep = cls.prepare(model, device, **kwargs)
        try:
            return rep.run(inputs)
        finally:
            rep.close()

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether arrays may lie there: in the host's memory only."""
        return device.partition(":")[0] == "CPU"


def _model_of(
    node: NodeProto,
    inputs: Any,
    outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None,
    version: int | None,
) -> ModelProto:
    """Return a model of one node."""
    names = dict.fromkeys(filter(None, node.input))
    given = inputs if isinstance(inputs, dict) else dict(zip(names, inputs, strict=True))
    taken = [
        _info(name, a.dtype, a.shape) for name, a in ((n, np.asarray(given[n])) for n in names)
    ]
    results = [name for name in node.output if name]
    if outputs_info is None:
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
    else:
        outputs = [_info(name, *i) for name, i in zip(results, outputs_info, strict=True)]
    graph = onnx.helper.make_graph([node], node.op_type, taken, outputs)
    version = version or onnx.defs.onnx_opset_version()
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)]
    )
    return model if outputs_info else onnx.shape_inference.infer_shapes(model)


def _info(name: str, dtype: Any, shape: Sequence[int]) -> onnx.ValueInfoProto:
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return onnx.helper.make_tensor_value_info(name, kind, shape)


is_compatible = ShadergenBackend.is_compatible
prepare = ShadergenBackend.prepare
run_model = ShadergenBackend.run_model
run_node = ShadergenBackend.run_node
supports_device = ShadergenBackend.supports_device
