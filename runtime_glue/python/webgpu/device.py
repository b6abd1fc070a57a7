"""Limits and features of a WebGPU device, checked against a build's requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import ShadergenError
from ....records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schedule import Requires

# name in the schedule's requirements: WebGPU's name; others have none
LIMITS = {
    "texture_size": "max-texture-dimension-2d",
    "array_texture_layers": "max-texture-array-layers",
    "texture_units": "max-sampled-textures-per-shader-stage",
    "draw_buffers": "max-color-attachments",
    "uniform_block_size": "max-uniform-buffer-binding-size",
    "uniform_blocks": "max-uniform-buffers-per-shader-stage",
    "storage_block_size": "max-storage-buffer-binding-size",
    "storage_blocks": "max-storage-buffers-per-shader-stage",
    "compute_images": "max-storage-textures-per-shader-stage",
    "compute_texture_units": "max-sampled-textures-per-shader-stage",
    "compute_uniform_blocks": "max-uniform-buffers-per-shader-stage",
    "workgroup_invocations": "max-compute-invocations-per-workgroup",
    "workgroup_count": "max-compute-workgroups-per-dimension",
}
F16 = "shader-f16"
TIMESTAMPS = "timestamp-query"
_WIDEST_TEXEL = 16  # bytes of a pixel in a render target of four 32-bit floats
_HELP = "compile the model with --device webgpu, which needs no more than WebGPU guarantees"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A WebGPU device: ``limits`` has the names of the schedule.

    ``backend`` is the system's interface below WebGPU: Vulkan, Metal, D3D12, OpenGL.
    """

    vendor: str
    renderer: str
    backend: str
    features: frozenset[str]
    limits: Mapping[str, int]

    @property
    def version(self) -> str:
        """What it is, for messages."""
        return f"WebGPU on {self.backend}"

    def matches(self, name: str) -> bool:
        """Whether a name that a user gives, in any case, is part of the adapter's and backend's."""
        return name.lower() in f"{self.renderer} {self.version}".lower()

    @property
    def draws_float(self) -> bool:
        """Whether 32-bit float textures are color-renderable."""
        return self.backend != "OpenGL"

    @property
    def draws_half_float(self) -> bool:
        """Whether 16-bit float textures are color-renderable."""
        return True

    @property
    def has_compute(self) -> bool:
        """Whether there are compute shaders."""
        return self.limits["workgroup_invocations"] > 0

    def is_for(self, variant: Mapping[str, Any]) -> bool:
        """Whether a variant, as a schedule lists it, is for WebGPU."""
        return "wgsl" in variant

    def check(self, requires: Requires) -> None:
        """Raise an error if the device lacks a requirement of a build.

        Raises:
            ShadergenError: SG0602, naming everything that is missing.
        """
        missing = self.missing(requires)
        if missing:
            raise ShadergenError(
                "SG0602",
                f"this WebGPU lacks {missing[0]}",
                where=f"{self.renderer}, {self.version}",
                why="\n".join(f"the build also requires {m}" for m in missing[1:]),
                help=_HELP,
            )

    def missing(self, requires: Requires) -> list[str]:
        """Return what the device lacks of the requirements of a build."""
        missing = [] if requires.wgsl else ["support for GLSL ES, the build's shader language"]
        if requires.wgsl == "f16" and F16 not in self.features:
            missing.append(f"the feature {F16}, to compute with 16-bit floats")
        if requires.color_buffer == "float" and not self.draws_float:
            missing.append(f"drawing to 32-bit float textures (this is {self.version})")
        return missing + [
            f"{name.replace('_', ' ')} >= {needed} ({LIMITS.get(name, name)} is {offered})"
            for name, needed in requires.limits.items()
            if needed > (offered := self.limits.get(name, 0))
        ]


def query_device(device: Any) -> DeviceInfo:
    """Describe a ``wgpu.GPUDevice``, or all that a device of a ``wgpu.GPUAdapter`` can have."""
    found, info = device.limits, getattr(device, "adapter", device).info
    limits = {name: int(found[key]) for name, key in LIMITS.items()}
    room = int(found["max-color-attachment-bytes-per-sample"])
    limits["draw_buffers"] = min(limits["draw_buffers"], room // _WIDEST_TEXEL)
    for name in ("uniform_blocks", "compute_uniform_blocks"):
        limits[name] -= 1  # one buffer is for sizes
    return DeviceInfo(
        vendor=str(info.get("vendor", "")),
        renderer=str(info.get("device") or info.get("description", "")),
        backend=str(info.get("backend_type", "an unknown system")),
        features=frozenset(device.features),
        limits=limits,
    )
