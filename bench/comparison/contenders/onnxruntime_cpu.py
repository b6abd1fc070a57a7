"""onnxruntime on the processor: the same machine without a GPU API."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..networks import Model
from . import EXACT, Array, Running, Setting, Unavailable


class OnnxRuntime:
    """onnxruntime's processor provider, as it comes."""

    name = "onnxruntime"
    tolerance = EXACT

    def version(self, setting: Setting) -> str:
        if find_spec("onnxruntime") is None:
            raise Unavailable("the package onnxruntime is not installed")
        import onnxruntime

        return f"onnxruntime {onnxruntime.__version__} on the processor"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = setting.cores
        # Threads that wait by spinning would slow the next contender and count as work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(str(model.path), options, providers=providers)

        def frame(x: Array) -> Array:
            (y,) = session.run(None, {model.input_name: x})
            return y

        return Running(frame)
