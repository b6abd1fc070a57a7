"""onnxruntime: on the processor, which is the same machine without a GPU API, and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..networks import Model
from . import EXACT, Array, Running, Setting, Unavailable

PROCESSOR = "CPUExecutionProvider"
GPUS = {  # of those that are there the first is taken; with options that keep fp32
    "CUDAExecutionProvider": {"use_tf32": "0"},
    "MIGraphXExecutionProvider": {},
    "ROCMExecutionProvider": {},
    "DmlExecutionProvider": {},
    "CoreMLExecutionProvider": {},
    "WebGpuExecutionProvider": {},
}


@dataclass(frozen=True)
class OnnxRuntime:
    """onnxruntime's processor provider, as it comes."""

    name: str = "onnxruntime"
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        return f"onnxruntime {_installed().__version__} on the processor"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        return _running(model, setting, PROCESSOR, {})


@dataclass(frozen=True)
class OnnxRuntimeGpu:
    """onnxruntime with the first of :data:`GPUS` that it has. Its tensors pass through memory."""

    name: str = "onnxruntime, GPU"
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        package = _installed()
        return f"onnxruntime {package.__version__}, {_gpu(package)}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        provider = _gpu(_installed())
        return _running(model, setting, provider, GPUS[provider])


def _installed() -> Any:
    if find_spec("onnxruntime") is None:
        raise Unavailable("the package onnxruntime is not installed")
    import onnxruntime

    return onnxruntime


def _gpu(package: Any) -> str:
    offered = package.get_available_providers()
    found = next((name for name in GPUS if name in offered), None)
    if found is None:
        raise Unavailable(f"onnxruntime {package.__version__} has no provider for a GPU")
    return found


def _running(model: Model, setting: Setting, provider: str, choices: dict[str, str]) -> Running:
    """Load a model with one provider.

    Raises:
        RuntimeError: when the provider does not start, in whose place onnxruntime takes another.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = setting.cores
    # Threads that wait by spinning would slow the next contender and count as work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    wanted = [(provider, choices)]
    session = onnxruntime.InferenceSession(str(model.path), options, providers=wanted)
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"onnxruntime cannot start {provider}")

    def frame(x: Array) -> Array:
        (y,) = session.run(None, {model.input_name: x})
        return y

    return Running(frame)
