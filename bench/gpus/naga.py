"""SPIR-V of WGSL, as naga makes it inside wgpu for a Vulkan driver.

The package wgpu makes pipelines on Mesa's software driver, and a Vulkan layer (``spirv_layer.c``,
compiled here) takes the SPIR-V of their modules. Drivers with robust access to buffers and images,
as all of Mesa's, get the same SPIR-V: naga leaves checks of bounds to them. It adds a counter that
ends each loop, which ``checked=False`` leaves out, guards of divisions, and a clamp of floats that
become ints.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from gpus.table import KEPT, icd_file
from gpus.worker import Refused

SOURCE = Path(__file__).with_name("spirv_layer.c")
LAYER = "VK_LAYER_SHADERGEN_spirv"
CREATE = "wgpuDeviceCreateShaderModule"
UNCHECKED = 0  # WGPUShaderRuntimeChecks_None


class Naga:
    """Makes SPIR-V of WGSL, in this process."""

    def __init__(self) -> None:
        self._made: list[bytes] = []
        layer = ctypes.CDLL(str(_layer()))
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
        self._take = kind(lambda code, size: self._made.append(ctypes.string_at(code, size)))
        take = ctypes.cast(self._take, ctypes.c_void_p).value
        ctypes.c_void_p.in_dll(layer, "spirv_taken").value = take
        os.environ.update(
            VK_ICD_FILENAMES=icd_file("lvp"), VK_LAYER_PATH=str(KEPT), VK_INSTANCE_LAYERS=LAYER
        )
        self._wgpu: Any = import_module("wgpu")
        self._calls: Any = import_module("wgpu.backends.wgpu_native._api").libf
        self._create = {True: getattr(self._calls, CREATE), False: self._create_unchecked}
        adapters = self._wgpu.gpu.enumerate_adapters_sync()
        adapter = next(a for a in adapters if a.info["backend_type"] == "Vulkan")
        self._device = adapter.request_device_sync(
            required_features=sorted(adapter.features & {"shader-f16"}),
            required_limits=dict(adapter.limits),
        )

    def _create_unchecked(self, device: Any, descriptor: Any) -> Any:
        return self._calls.wgpuDeviceCreateShaderModuleTrusted(device, descriptor, UNCHECKED)

    def spirv(self, shader: Mapping[str, Any]) -> list[bytes]:
        """Return the SPIR-V of each stage of a shader.

        Raises:
            Refused: when naga does not accept it.
        """
        self._made.clear()
        setattr(self._calls, CREATE, self._create[shader["checked"]])
        try:
            stage = self._stage(shader["source"])
            if shader["stage"] == "compute":
                self._device.create_compute_pipeline(layout="auto", compute=stage)
            else:
                targets = [{"format": _format(format)} for format in shader["targets"]]
                self._device.create_render_pipeline(
                    layout="auto",
                    vertex=self._stage(shader["vertex"]),
                    fragment={**stage, "targets": targets},
                    primitive={"topology": "triangle-list"},
                )
        except self._wgpu.GPUError as error:
            raise Refused(f"naga: {error}") from None
        return list(self._made)

    def _stage(self, source: str) -> dict[str, Any]:
        return {"module": self._device.create_shader_module(code=source), "entry_point": "main"}


def _format(name: str) -> str:
    """Return WebGPU's name of a format: "rgba16float" of "rgba16f"."""
    return name.replace("f", "float") if name.endswith("f") else f"{name}unorm"


def _layer() -> Path:
    """Return the layer's library, compiled if it is older than its source."""
    library = KEPT / "spirv_layer.so"
    KEPT.mkdir(parents=True, exist_ok=True)
    about = {
        "name": LAYER,
        "type": "GLOBAL",
        "library_path": str(library),
        "api_version": "1.3.0",
        "implementation_version": "1",
        "description": "Shows the SPIR-V of shader modules.",
    }
    manifest = {"file_format_version": "1.2.0", "layer": about}
    library.with_suffix(".json").write_text(json.dumps(manifest), "utf-8")
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        subprocess.run(command, check=True)
    return library
