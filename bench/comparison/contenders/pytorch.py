"""PyTorch on a GPU, in fp32: the hardware vendor's libraries as an upper bound."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..networks import Model, torch_network
from . import EXACT, Array, Running, Setting, Unavailable


@dataclass(frozen=True)
class PyTorch:
    """Eager mode on ``device``, of the modules that the files were exported from."""

    name: str = "PyTorch"
    device: str = "cuda"
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        if find_spec("torch") is None:
            raise Unavailable("the package torch is not installed")
        import torch

        if self.device != "cuda":
            return f"torch {torch.__version__} on {self.device}"
        if not torch.cuda.is_available():
            raise Unavailable(f"torch {torch.__version__} finds no CUDA device")
        return f"torch {torch.__version__} on CUDA, {torch.cuda.get_device_name()}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False  # its 19 bits are no fp32
        torch.backends.cudnn.allow_tf32 = False
        module = torch_network(model.name).to(self.device)
        held: dict[str, torch.Tensor] = {}

        def frame(x: Array) -> Array:
            with torch.inference_mode():
                held["x"] = torch.from_numpy(x).to(self.device)
                y: Array = module(held["x"]).cpu().numpy()
            return y

        def resident() -> None:
            with torch.inference_mode():
                module(held["x"])
            if self.device == "cuda":
                torch.cuda.synchronize()

        return Running(frame, resident)
