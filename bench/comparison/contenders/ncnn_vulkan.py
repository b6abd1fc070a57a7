"""ncnn on Vulkan: the network converted by pnnx, with the options that are fastest for it.

In fp32 its 16-bit options are off, and of the others each that may cost time is tried off alone;
in 16 bits all options are as they come. The Python bindings give no access to tensors on the
device, so there is no resident frame: every frame uploads its input and downloads its output.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..networks import Model
from ..results import Cost
from . import EXACT, Array, Running, Setting, Unavailable

BITS_16 = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage")
TRIED = (
    "sgemm_convolution",
    "winograd_convolution",
    "winograd63_convolution",
    "winograd43_convolution",
    "winograd23_convolution",
    "subgroup_ops",
    "packing_layout",
)
FRAMES = 3  # to try an option with, after a first one
LIMIT = 600  # seconds for a conversion
OPTIONS = "options.json"  # that are off


@dataclass(frozen=True)
class NcnnVulkan:
    """ncnn on the Vulkan device of the kind that the GL is: software or not.

    Attributes:
        name: in tables.
        half: whether its 16-bit options are as they come, which is on; else they are off.
        search: whether options are tried, and the fastest kept.
        tolerance: of its output; larger in 16 bits.
    """

    name: str = "ncnn"
    half: bool = False
    search: bool = True
    tolerance: float = EXACT

    def version(self, setting: Setting) -> str:
        for package in ("ncnn", "pnnx"):
            if find_spec(package) is None:
                raise Unavailable(f"the package {package} is not installed")
        import ncnn

        device = ncnn.get_gpu_info(_device(setting)).device_name()
        return f"ncnn {ncnn.__version__} (pnnx {version('pnnx')}) on Vulkan, {device}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        import pnnx

        (folder / "model.onnx").symlink_to(model.path)
        shape = ",".join(str(n) for n in model.x.shape)
        arguments = (pnnx.EXEC_PATH, "model.onnx", f"inputshape=[{shape}]", "fp16=0")
        done = subprocess.run(
            arguments, cwd=folder, capture_output=True, text=True, errors="replace", timeout=LIMIT
        )
        if done.returncode or not (folder / "model.ncnn.param").exists():
            said = (done.stderr or done.stdout).strip().splitlines()
            raise RuntimeError(f"pnnx failed: {said[-1] if said else done.returncode}")
        off = () if self.half else BITS_16
        if self.search and not self.half:
            ways = [(*off, *more) for more in ((), *((name,) for name in TRIED))]
            off = min(ways, key=lambda way: _time(folder, way, model.x, setting))
        (folder / OPTIONS).write_text(json.dumps(off), "utf-8")
        return {"options": ", ".join(f"{name} off" for name in off if name not in BITS_16)}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        return Running(_ready(folder, json.loads((folder / OPTIONS).read_text("utf-8")), setting))


def _time(folder: Path, off: Sequence[str], x: Array, setting: Setting) -> float:
    """Return the milliseconds of the fastest of some frames: the processors' time in software."""
    frame = _ready(folder, off, setting)
    frame(x)
    costs = [Cost.of(lambda: frame(x)) for _ in range(FRAMES)]
    return min(c.cpu if setting.software else c.wall for c in costs)


def _ready(folder: Path, off: Sequence[str], setting: Setting) -> Any:
    """Load a converted network with some options off; return what computes a frame."""
    import ncnn

    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    for name in off:
        setattr(net.opt, f"use_{name}", False)
    net.set_vulkan_device(_device(setting))
    for load, file in ((net.load_param, "param"), (net.load_model, "bin")):
        if load(str(folder / f"model.ncnn.{file}")):
            raise RuntimeError(f"ncnn cannot load model.ncnn.{file}")
    (source,), (target,) = net.input_names(), net.output_names()

    def frame(x: Array) -> Array:
        image = np.ascontiguousarray(x[0])  # ncnn has no batches
        extractor = net.create_extractor()
        # Mat borrows the array, whose planes do not begin where Vulkan needs them; clone's do.
        extractor.input(source, ncnn.Mat(image).clone())
        status, out = extractor.extract(target)
        if status:
            raise RuntimeError(f"ncnn failed with status {status}")
        return np.array(out)

    return frame


def _device(setting: Setting) -> int:
    import ncnn

    names: list[Any] = [ncnn.get_gpu_info(i).device_name() for i in range(ncnn.get_gpu_count())]
    for number, name in enumerate(names):
        if ("llvmpipe" in name.lower()) == setting.software:
            return number
    kind = "software Vulkan (Debian: mesa-vulkan-drivers)" if setting.software else "Vulkan GPU"
    raise Unavailable(f"no {kind}; found {', '.join(names) or 'no Vulkan device at all'}")
