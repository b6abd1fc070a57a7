"""ncnn on Vulkan, in fp32: the network converted by pnnx, all other options as they come.

The Python bindings give no access to tensors on the device, so there is no resident frame: every
frame uploads its input and downloads its output.
"""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..networks import Model
from . import Array, Running, Setting, Unavailable

HALF = ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage")
LIMIT = 600  # seconds for a conversion


class NcnnVulkan:
    """ncnn on the Vulkan device of the kind that the GL is: software or not."""

    name = "ncnn"

    def version(self, setting: Setting) -> str:
        for package in ("ncnn", "pnnx"):
            if find_spec(package) is None:
                raise Unavailable(f"the package {package} is not installed")
        import ncnn

        device = ncnn.get_gpu_info(_device(setting)).device_name()
        return f"ncnn {ncnn.__version__} (pnnx {version('pnnx')}) on Vulkan, {device}"

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, int]:
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
        return {}

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        import ncnn

        net = ncnn.Net()
        net.opt.use_vulkan_compute = True
        for name in HALF:
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

        return Running(frame)


def _device(setting: Setting) -> int:
    import ncnn

    names: list[Any] = [ncnn.get_gpu_info(i).device_name() for i in range(ncnn.get_gpu_count())]
    for number, name in enumerate(names):
        if ("llvmpipe" in name.lower()) == setting.software:
            return number
    kind = "software Vulkan (Debian: mesa-vulkan-drivers)" if setting.software else "Vulkan GPU"
    raise Unavailable(f"no {kind}; found {', '.join(names) or 'no Vulkan device at all'}")
