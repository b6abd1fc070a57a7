"""This project: a build for the GL at hand, run by the Python runtime.

Tuned, it measures kernels before it compiles, which counts as converting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..networks import Model
from . import EXACT, Array, Running, Setting, Unavailable

if TYPE_CHECKING:
    from shadergen.compiler.options import Options

SECONDS = 120.0  # of tuning a network; the dearest layers come first


@dataclass(frozen=True)
class Own:
    """shadergen with some options of ``compile`` beside ``--device``.

    Attributes:
        name: in tables.
        options: of ``compile``.
        tuned: whether ``tune`` is run first, and compiling goes by what it measures.
        tolerance: of its output; larger in 16 bits.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    tuned: bool = False
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        import shadergen
        from shadergen.errors import ShadergenError
        from shadergen.runtime_glue.python import HeadlessContext

        try:
            with HeadlessContext() as context:
                renderer = context.info().renderer
        except ShadergenError as error:
            raise Unavailable(str(error)) from None
        return f"shadergen {shadergen.__version__} on OpenGL ES, {renderer}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        from shadergen.compiler.driver import compile_model
        from shadergen.compiler.options import Options

        options = Options(device=str(setting.profile), **self.options)
        if self.tuned:
            options = replace(options, tuning=_tune(model.path, options, folder / "tuning.json"))
        compiled = compile_model(model.path, folder / "build", options)
        passes = compiled.files.schedule["passes"]
        return {"passes": len(passes), "macs": sum(p["macs"] for p in passes)}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        from shadergen.runtime_glue.python import HeadlessContext, Runner, load

        runner = Runner(load(folder / "build"), HeadlessContext())
        runner.init()

        def frame(x: Array) -> Array:
            runner.upload(model.input_name, x)
            runner.run()
            return runner.read(model.output_name)

        def resident() -> None:
            runner.run()
            runner.wait()

        return Running(frame, resident)


def _tune(model: Path, options: Options, file: Path) -> Path:
    """Measure the kernels of a model; return the tuning file."""
    from shadergen.compiler.tuning.session import tune_model
    from shadergen.compiler.tuning.trials import Settings

    tune_model(model, options, file, Settings(), SECONDS, True, lambda *what: None)
    return file
