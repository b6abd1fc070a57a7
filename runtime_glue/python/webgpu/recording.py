"""The GPU passes of a build as WebGPU objects: pipelines, what is bound, targets.

Bindings of group 0 are numbered as docs/schedule.md says: the sizes, if the pass has uniforms, what
it reads, its blocks, the texture that a dispatch stores to, and a sampler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....records import dataclass
from ..schedule import ComputePass, RenderPass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..schedule import Build, GpuPass, Texture
    from .pipelines import Pipelines

_TRIANGLE = 3  # vertices


@dataclass(frozen=True)
class Step:
    """A pass that only has to be encoded."""

    pipeline: Any
    bound: Any
    groups: tuple[int, int, int]  # of a dispatch
    targets: Sequence[Any]  # views that a draw writes
    viewport: tuple[int, int]

    def encode(self, encoder: Any, **times: Any) -> None:
        """Record the pass; ``times`` are the timestamps that it writes."""
        if not self.targets:
            dispatch = encoder.begin_compute_pass(**times)
            self._set(dispatch)
            dispatch.dispatch_workgroups(*self.groups)
            dispatch.end()
            return
        # What the viewport leaves out holds nothing, so that no old content need be loaded.
        attachments = [
            {"view": view, "load_op": "clear", "store_op": "store"} for view in self.targets
        ]
        draw = encoder.begin_render_pass(color_attachments=attachments, **times)
        self._set(draw)
        draw.set_viewport(0, 0, *self.viewport, 0, 1)
        draw.draw(_TRIANGLE)
        draw.end()

    def _set(self, run: Any) -> None:
        run.set_pipeline(self.pipeline)
        run.set_bind_group(0, self.bound)


def uniform_rows(build: Build, alignment: int) -> tuple[dict[int, int], bytes]:
    """Return where the sizes of each pass begin in one buffer, and the buffer's content."""
    places, content = {}, b""
    for index, gpu_pass in enumerate(build.passes):
        if gpu_pass.uniforms:
            content += bytes(-len(content) % alignment)
            places[index] = len(content)
            values = [number for uniform in gpu_pass.uniforms for number in uniform.value]
            content += np.array(values, "<i4").tobytes()
    return places, content


def record(
    device: Any,
    build: Build,
    pipelines: Pipelines,
    textures: Mapping[str, Any],
    buffers: Mapping[str, Any],
    sizes: tuple[Mapping[int, int], Any],
    sampler: Any,
) -> list[Step]:
    """Return the passes of a build, in their order.

    Args:
        device: the ``wgpu.GPUDevice``.
        build: at fixed sizes.
        pipelines: of the device; those that are missing are compiled.
        textures: of WebGPU, by the names of tensors.
        buffers: of WebGPU, by their names.
        sizes: where each pass finds its sizes in a buffer, and this buffer.
        sampler: nearest and clamped.
    """
    steps = []
    for index, gpu_pass in enumerate(build.passes):
        bound = [_sizes(gpu_pass, sizes[0][index], sizes[1])] if gpu_pass.uniforms else []
        for read in gpu_pass.reads:
            texture = build.textures[read.texture]
            bound.append(view_of(texture, textures[read.texture], read.layer or 0))
        for block in gpu_pass.blocks:
            bound.append({"buffer": buffers[block.buffer]})
        targets = []
        if isinstance(gpu_pass, ComputePass):
            write = gpu_pass.writes[0]
            bound.append(
                view_of(build.textures[write.texture], textures[write.texture], write.layer)
            )
        else:
            targets = [_layer(textures[w.texture], w.layer) for w in gpu_pass.writes]
        bound.append(sampler)
        formats = tuple(textures[w.texture].format for w in gpu_pass.writes[: len(targets)])
        pipeline, layout = pipelines.of(build, gpu_pass, formats)
        entries = [{"binding": n, "resource": what} for n, what in enumerate(bound)]
        steps.append(
            Step(
                pipeline,
                device.create_bind_group(layout=layout, entries=entries),
                gpu_pass.groups if isinstance(gpu_pass, ComputePass) else (0, 0, 0),
                targets,
                gpu_pass.viewport if isinstance(gpu_pass, RenderPass) else (0, 0),
            )
        )
    return steps


def view_of(texture: Texture, made: Any, layer: int) -> Any:
    """Return what a shader reads or stores to: a whole array, or one of a tensor's 2D textures."""
    return made.create_view(dimension="2d-array") if texture.is_array else _layer(made, layer)


def _layer(made: Any, layer: int) -> Any:
    return made.create_view(dimension="2d", base_array_layer=layer, array_layer_count=1)


def _sizes(gpu_pass: GpuPass, offset: int, buffer: Any) -> dict[str, Any]:
    count = sum(len(uniform.value) for uniform in gpu_pass.uniforms)
    return {"buffer": buffer, "offset": offset, "size": 4 * count}
