"""Programs as WGSL on WebGPU: runs a schedule pass by pass, for tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import wgpu

from shadergen.backends.dialects.wgsl import bindings, print_program
from shadergen.backends.gpu import ComputePass
from shadergen.backends.shader.program import Array, TextureBinding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shadergen.backends.build_files import BuildFiles
    from shadergen.backends.gpu import GpuPass
    from shadergen.backends.shader.program import Program

FORMATS: dict[str, tuple[str, int, type]] = {  # names, components, and what each of them is
    "r32f": ("r32float", 1, np.float32),
    "rg32f": ("rg32float", 2, np.float32),
    "rgba32f": ("rgba32float", 4, np.float32),
    "r16f": ("r16float", 1, np.float16),
    "rg16f": ("rg16float", 2, np.float16),
    "rgba16f": ("rgba16float", 4, np.float16),
}
TRIANGLE = """@vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    return vec4f(select(-1.0, 3.0, i == 1u), select(-1.0, 3.0, i == 2u), 0.0, 1.0);
}
"""
USES = wgpu.TextureUsage
USED = USES.TEXTURE_BINDING | USES.COPY_DST | USES.COPY_SRC | USES.RENDER_ATTACHMENT
NO_IMAGES = ("r16f", "rg16f")  # textures that no compute shader may write
STAGES = {"fragment": wgpu.ShaderStage.FRAGMENT, "compute": wgpu.ShaderStage.COMPUTE}


def device() -> Any:
    """Return a device, or None where there is no adapter."""
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="low-power")
        wanted = ["float32-filterable", *({"shader-f16"} & set(adapter.features))]
        return adapter.request_device_sync(required_features=wanted)
    except Exception:
        return None


class Frame:
    """A build on a device: textures made and filled, then passes in their order."""

    def __init__(
        self, gpu: Any, files: BuildFiles, passes: Sequence[GpuPass], f16: bool = False
    ) -> None:
        self.gpu = gpu
        self.f16 = f16
        self.schedule = files.schedule
        self.passes = passes
        with tempfile.TemporaryDirectory() as folder:
            files.weights.save(Path(folder) / "weights.bin")
            self.weights = (Path(folder) / "weights.bin").read_bytes()
        self.entries = {t["name"]: t for t in self.schedule["textures"]}
        self.slots: dict[tuple[object, ...], Any] = {}
        self.textures = {name: self._texture(t) for name, t in self.entries.items()}

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs, maps of four dimensions, by name."""
        for port in self.schedule["inputs"]:
            self._upload(port["texture"], inputs[port["name"]])
        encoder = self.gpu.create_command_encoder()
        for entry, gpu_pass in zip(self.schedule["passes"], self.passes, strict=True):
            self._encode(encoder, entry, gpu_pass)
        self.gpu.queue.submit([encoder.finish()])
        ports = self.schedule["outputs"]
        return {port["name"]: self._download(port["texture"], port["shape"]) for port in ports}

    def _texture(self, t: dict[str, Any]) -> Any:
        key = (t["name"],) if t["slot"] is None else ("slot", t["slot"])
        if key not in self.slots:
            sharing = [o for o in self.entries.values() if o["slot"] == t["slot"]]
            layers = max(o["layers"] for o in (sharing if t["slot"] is not None else [t]))
            self.slots[key] = self.gpu.create_texture(
                size=(t["width"], t["height"], layers),
                format=FORMATS[t["format"]][0],
                usage=USED | (0 if t["format"] in NO_IMAGES else USES.STORAGE_BINDING),
            )
        made = self.slots[key]
        if t["data"] is not None:
            begin = t["data"]["offset"]
            self._write(made, t, self.weights[begin : begin + t["data"]["size"]])
        return made

    def _write(self, texture: Any, t: dict[str, Any], data: bytes) -> None:
        _, lanes, kind = FORMATS[t["format"]]
        row = t["width"] * lanes * np.dtype(kind).itemsize
        layout = {"bytes_per_row": row, "rows_per_image": t["height"]}
        size = (t["width"], t["height"], t["layers"])
        self.gpu.queue.write_texture({"texture": texture}, data, layout, size)

    def _upload(self, name: str, x: np.ndarray) -> None:
        t = self.entries[name]
        _, lanes, kind = FORMATS[t["format"]]
        n, c, height, width = x.shape
        planes = -(-c // lanes)
        padded = np.zeros((n, planes * lanes, height, width), kind)
        padded[:, :c] = x
        texels = padded.reshape(n * planes, lanes, height, width).transpose(0, 2, 3, 1)
        self._write(self.textures[name], t, np.ascontiguousarray(texels).tobytes())

    def _download(self, name: str, shape: list[int]) -> np.ndarray:
        t = self.entries[name]
        _, lanes, kind = FORMATS[t["format"]]
        n, c, height, width = shape
        size = np.dtype(kind).itemsize
        row = -(-width * lanes * size // 256) * 256
        data = self.gpu.queue.read_texture(
            {"texture": self.textures[name]},
            {"bytes_per_row": row, "rows_per_image": height},
            (width, height, t["layers"]),
        )
        rows = np.frombuffer(data, kind).reshape(t["layers"], height, row // size)
        texels = rows[:, :, : width * lanes].reshape(n, -1, height, width, lanes)
        return texels.transpose(0, 1, 4, 2, 3).reshape(n, -1, height, width)[:, :c]

    def _encode(self, encoder: Any, entry: dict[str, Any], gpu_pass: GpuPass) -> None:
        program = gpu_pass.program
        module = self.gpu.create_shader_module(code=print_program(program, self.f16))
        stage = {"module": module, "entry_point": "main"}
        if isinstance(gpu_pass, ComputePass):
            pipeline = self.gpu.create_compute_pipeline(layout="auto", compute=stage)
            run = encoder.begin_compute_pass()
        else:
            writes = [(self.textures[w["texture"]], w["layer"]) for w in entry["writes"]]
            pipeline = self.gpu.create_render_pipeline(
                layout="auto",
                vertex={"module": self.gpu.create_shader_module(code=TRIANGLE)},
                primitive={"topology": "triangle-list"},
                fragment={
                    **stage,
                    "targets": [{"format": texture.format} for texture, _ in writes],
                },
            )
            run = encoder.begin_render_pass(
                color_attachments=[
                    {
                        "view": texture.create_view(
                            dimension="2d", base_array_layer=layer or 0, array_layer_count=1
                        ),
                        "load_op": "clear",
                        "store_op": "store",
                    }
                    for texture, layer in writes
                ]
            )
        run.set_pipeline(pipeline)
        bound = self._bound(entry, program)
        if bound:
            layout = pipeline.get_bind_group_layout(0)
            run.set_bind_group(0, self.gpu.create_bind_group(layout=layout, entries=bound))
        if isinstance(gpu_pass, ComputePass):
            run.dispatch_workgroups(*gpu_pass.groups)
        else:
            run.draw(3)
        run.end()

    def _bound(self, entry: dict[str, Any], program: Program) -> list[dict[str, Any]]:
        """Return what is bound to a program's bindings, those that it uses."""
        text = print_program(program)
        main = text.partition("@group(0)")[2]
        found = []
        for number, (declared, what) in enumerate(bindings(program)):
            name = declared.split(":")[0].split()[-1]
            if main.count(name) < 2:  # no more than declared: not in an automatic layout
                continue
            if what is None:
                values = {u["name"]: u["value"][0] for u in entry["uniforms"]}
                data = np.array([values[name] for name in program.uniforms], np.int32).tobytes()
                resource: Any = self._buffer(data, wgpu.BufferUsage.UNIFORM)
            elif isinstance(what, Array):
                resource = self._block(entry, what)
            else:
                resource = self._view(entry, program, what)
            found.append({"binding": number, "resource": resource})
        return found

    def _buffer(self, data: bytes, usage: int) -> dict[str, Any]:
        made = self.gpu.create_buffer_with_data(data=data + bytes(-len(data) % 16), usage=usage)
        return {"buffer": made, "offset": 0, "size": made.size}

    def _block(self, entry: dict[str, Any], array: Array) -> dict[str, Any]:
        assert array.buffer is not None
        kind, block = array.buffer
        (name,) = (b["buffer"] for b in entry["blocks"] if b["block"] == block)
        (data,) = (b for b in self.schedule["buffers"] if b["name"] == name)
        usage = wgpu.BufferUsage.UNIFORM if kind == "uniform" else wgpu.BufferUsage.STORAGE
        begin = data["offset"]
        return self._buffer(self.weights[begin : begin + data["size"]], usage)

    def _view(self, entry: dict[str, Any], program: Program, what: TextureBinding) -> Any:
        dimension = "2d-array" if what.kind == "array" else "2d"
        if what is program.result:
            name, first = entry["writes"][0]["texture"], 0
        else:
            read = entry["reads"][program.textures.index(what)]
            name, first = read["texture"], read.get("layer") or 0
        texture = self.textures[name]
        count = texture.depth_or_array_layers if what.kind == "array" else 1
        return texture.create_view(
            dimension=dimension, base_array_layer=first, array_layer_count=count
        )
