"""Pipelines of a build: shaders compiled once for each way in which they are bound."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ....errors import ShadergenError
from ..files import COPY
from ..schedule import ComputePass, RenderPass
from .textures import format_of

if TYPE_CHECKING:
    from ..schedule import Build, GpuPass

_LINE = re.compile(r"wgsl:(\d+):(\d+)")


class Pipelines:
    """Compiles pipelines, each once.

    Args:
        wgpu: the package.
        device: the ``wgpu.GPUDevice``.
    """

    def __init__(self, wgpu: Any, device: Any) -> None:
        self._wgpu = wgpu
        self._device = device
        self._modules: dict[str, Any] = {}
        self._layouts: dict[tuple[tuple[str, ...], ...], tuple[Any, Any]] = {}
        self._pipelines: dict[tuple[Any, ...], Any] = {}

    def of(self, build: Build, gpu_pass: GpuPass, formats: tuple[str, ...]) -> tuple[Any, Any]:
        """Return the pipeline of a pass, and the layout of its bindings.

        Args:
            build: has the shaders.
            gpu_pass: of the build.
            formats: of its render targets.

        Raises:
            ShadergenError: SG0603 for a shader that does not compile.
        """
        key = _bindings(build, gpu_pass)
        if key not in self._layouts:
            self._layouts[key] = self._layout(key)
        group, layout = self._layouts[key]
        whole = (gpu_pass.shaders, key, formats)
        if whole not in self._pipelines:
            try:
                self._pipelines[whole] = self._pipeline(build, gpu_pass, formats, layout)
            except self._wgpu.GPUError as error:
                raise _refused(build, gpu_pass, str(error)) from None
        return self._pipelines[whole], group

    def _layout(self, key: tuple[tuple[str, ...], ...]) -> tuple[Any, Any]:
        stages = self._wgpu.ShaderStage
        entries = []
        for number, (stage, kind, *more) in enumerate(key):
            entry: dict[str, Any] = {"binding": number, "visibility": getattr(stages, stage)}
            if kind == "buffer":
                entry["buffer"] = {"type": more[0]}
            elif kind == "texture":
                # Of 32-bit floats no device need have filters, and shaders use none.
                entry["texture"] = {"sample_type": "unfilterable-float", "view_dimension": more[0]}
            elif kind == "sampler":
                entry["sampler"] = {"type": "non-filtering"}
            else:
                entry["storage_texture"] = {
                    "access": "write-only",
                    "view_dimension": more[0],
                    "format": more[1],
                }
            entries.append(entry)
        group = self._device.create_bind_group_layout(entries=entries)
        return group, self._device.create_pipeline_layout(bind_group_layouts=[group])

    def _pipeline(
        self, build: Build, gpu_pass: GpuPass, formats: tuple[str, ...], layout: Any
    ) -> Any:
        stage = {"module": self._module(build, gpu_pass.shader), "entry_point": "main"}
        if not isinstance(gpu_pass, RenderPass):
            return self._device.create_compute_pipeline(
                label=gpu_pass.shader, layout=layout, compute=stage
            )
        return self._device.create_render_pipeline(
            label=gpu_pass.shader,
            layout=layout,
            vertex={"module": self._module(build, gpu_pass.vertex), "entry_point": "main"},
            primitive={"topology": "triangle-list"},
            fragment={**stage, "targets": [{"format": format} for format in formats]},
        )

    def _module(self, build: Build, path: str) -> Any:
        if path not in self._modules:
            code = build.shaders[path]
            self._modules[path] = self._device.create_shader_module(label=path, code=code)
        return self._modules[path]


def _bindings(build: Build, gpu_pass: GpuPass) -> tuple[tuple[str, ...], ...]:
    """Return what is bound, in the order of its numbers, as words."""
    stage = "COMPUTE" if isinstance(gpu_pass, ComputePass) else "FRAGMENT"
    found: list[tuple[str, ...]] = []
    if gpu_pass.uniforms:
        found.append((stage, "buffer", "uniform"))
    found += [(stage, "texture", _dimension(build, read.texture)) for read in gpu_pass.reads]
    for block in gpu_pass.blocks:
        storage = build.buffers[block.buffer].is_storage
        found.append((stage, "buffer", "read-only-storage" if storage else "uniform"))
    if isinstance(gpu_pass, ComputePass):
        name = gpu_pass.writes[0].texture
        found.append((stage, "image", _dimension(build, name), format_of(build.textures[name])))
    return (*found, (stage, "sampler"))


def _dimension(build: Build, name: str) -> str:
    return "2d-array" if build.textures[name].is_array else "2d"


def _refused(build: Build, gpu_pass: GpuPass, said: str) -> ShadergenError:
    """Return the error for a shader, with the line that the compiler names."""
    line = _LINE.search(said)
    lines = build.shaders[gpu_pass.shader].splitlines()
    number = int(line[1]) if line else 0
    source = f"\n{number}: {lines[number - 1]}" if 0 < number <= len(lines) else ""
    return ShadergenError(
        "SG0603",
        f"the shader {gpu_pass.shader} does not compile",
        where=f"GPU pass '{gpu_pass.name}'",
        why=f"{said.strip()}{source}",
        help=COPY,
    )
