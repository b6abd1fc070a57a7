"""The schedule: GPU passes as data for any runtime (docs/schedule.md).

Its parts refer to each other by names that are given once, so one class writes them all.
"""

from __future__ import annotations

import hashlib
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InternalError
from ..ir.dimensions import at_layer, environment_of
from ..ir.graph import Constant, Input
from ..ir.types import FORMATS, LANES, TensorType
from ..passes.placement.aliases import aliases_of
from ..passes.placement.kinds import precision
from .barriers import barriers
from .build_files import WEIGHTS, BuildFiles
from .constraints import sizes_member
from .gpu import Blob, ComputePass
from .pass_work import PassWorks
from .requirements import requirements
from .shader.builder import weight_texture_width
from .shader_files import print_shaders
from .sizes import expression
from .texels import components, pack, tensor_bytes
from .weights import WeightFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..ir.graph import Graph, Port, Value
    from ..passes.placement.target import Target
    from .gpu import GpuPass
    from .shader_files import ShaderFiles

FORMAT_VERSION = "5.7"
MOST_PORTS = 256  # inputs, and outputs, in the JSON Schema of the schedule


def label(name: str) -> str:
    """Return a name from the model as the schedule's schema takes it, nearly always as it is.

    Lone surrogates have no UTF-8 and names end at 1024 characters; a digest keeps such apart.
    """
    fit = name.encode("utf-8", "replace").decode()[:1000]
    if fit == name:
        return name or "unnamed"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{fit}#{digest[:8]}"


def _ranges(layers: Sequence[int]) -> str:
    """Return ranges of ascending layers as Python writes slices: ``0:2,16:18``."""
    starts = [k for k in layers if k - 1 not in layers]
    ends = [k + 1 for k in layers if k + 1 not in layers]
    return ",".join(f"{start}:{end}" for start, end in zip(starts, ends, strict=True))


def schedule(
    graph: Graph,
    passes: Sequence[GpuPass],
    target: Target,
    generator: str,
    calibrated: Sequence[str] = (),
    receptive_fields: Mapping[str, dict[str, Any]] | None = None,
    shaders: ShaderFiles | None = None,
    folder: Path | None = None,
) -> BuildFiles:
    """Assemble a build from a placed graph and its GPU passes.

    Args:
        graph: placed.
        passes: in their order.
        target: what it was compiled for.
        generator: the compiler's name and version.
        calibrated: layers that are in 16 bits by what inputs showed and not by proof.
        receptive_fields: of outputs, by name (:mod:`.receptive_fields`).
        shaders: printed shaders of the passes. None: they are printed here.
        folder: on the output's file system, for the unnamed weight file
            (:class:`.weights.WeightFile`). None: the folder for temporary files.

    Raises:
        ShadergenError: SG0207 for dynamic dimensions that no runtime can work out.
    """
    shaders = shaders or print_shaders(passes, target)
    build = _Assembly(graph, passes, target, generator, shaders, WeightFile(folder)).build()
    for output, entry in zip(graph.outputs, build.schedule["outputs"], strict=True):
        member = (receptive_fields or {}).get(output.name)
        if member is not None:
            entry["receptive_field"] = {
                name: label(value) if isinstance(value, str) else value
                for name, value in member.items()
            }
    if calibrated:
        build.schedule["calibrated"] = list(dict.fromkeys(map(label, calibrated)))
    return build


class _Assembly:
    def __init__(
        self,
        graph: Graph,
        passes: Sequence[GpuPass],
        target: Target,
        generator: str,
        shaders: ShaderFiles,
        weights: WeightFile,
    ) -> None:
        self.graph = graph
        self.passes = passes
        self.target = target
        self.generator = generator
        self.shaders = shaders
        self.weights = weights
        self.names: dict[Value | Blob, str] = {}
        self.taken: set[str] = set()
        self.textures: list[dict[str, Any]] = []
        self.buffers: list[dict[str, Any]] = []
        self.extents: list[tuple[int, str]] = []  # of the textures, and whose they are
        # WebGPU orders all accesses itself.
        self.barriers = [[] for _ in passes] if target.wgsl else barriers(passes)
        self.works = PassWorks()
        self.aliases = aliases_of(graph)
        self.touching: dict[Value | Blob, list[int]] = {}
        for k, p in enumerate(passes):
            for source in (p.node.result, *(r.source for r in p.reads)):
                self.touching.setdefault(self._owner(source), []).append(k)

    def build(self) -> BuildFiles:
        for i in self.graph.inputs:
            self._texture(i)
        entries = []
        for k, (p, shader) in enumerate(zip(self.passes, self.shaders.of_passes, strict=True)):
            with at_layer(p.node.name):
                entries.append(self._pass(k, p, shader))
        for o in self.graph.outputs:
            if o.value not in self.names:
                raise InternalError(f"no GPU pass writes output '{o.name}'")
        environment = environment_of(s for i in self.graph.inputs for s in i.shape)
        sizes: dict[str, Any] = {}  # filled last: what is written down may need constraints, too
        data = {
            "format": "shadergen",
            "version": FORMAT_VERSION,
            "generator": self.generator,
            "model": label(self.graph.name),
            "requires": requirements(
                self.graph, self.passes, self.target, self.textures, self.buffers, self.extents
            ),
            **({} if environment is None else {"sizes": sizes}),
            "inputs": [
                _port(i.name, self.names[i], i.type, i.port) | {"range": self._range(i)}
                for i in self.graph.inputs
            ],
            "outputs": [
                _port(o.name, self.names[o.value], o.value.type, o.port) for o in self.graph.outputs
            ],
            "textures": self.textures,
            "buffers": self.buffers,
            "weights": {
                "file": WEIGHTS,
                "size": self.weights.size,
                "sha256": self.weights.sha256(),
            },
            "passes": entries,
        }
        if environment is not None:
            sizes.update(sizes_member(environment))
        return BuildFiles(
            data,
            self.shaders.sources,
            self.weights,
            passes=tuple(self.passes),
            tensors=tuple(self.names[p.node.result] for p in self.passes),
            store_lines=self.shaders.store_lines,
        )

    def _range(self, i: Input) -> list[float] | None:
        """Return the range that the choice of precisions relies on."""
        images = i.port.encoding != "float"
        relied = self.target.precision == "auto" and i.type.dtype == "float32" and not images
        return list(self.target.input_range) if relied else None

    def _pass(self, position: int, p: GpuPass, shader: str) -> dict[str, Any]:
        result = p.node.result
        self._texture(result)
        work = self.works.of(p, shader)
        reads = []
        for r, fetches in zip(p.reads, work.fetches, strict=True):
            self._texture(r.source)
            kind = "image" if isinstance(r.place, int) else "uniform"
            entry: dict[str, Any] = {kind: r.place, "texture": self.names[self._owner(r.source)]}
            if r.matrix:
                entry["matrix"] = r.matrix
            if r.layer is not None:
                entry["layer"] = r.layer
            elif not isinstance(r.source, Blob) and r.source in self.aliases:
                t = r.source.type
                if t.layout is not None and t.layout.kind == "2d":
                    entry["layer"] = t.first_layer
                else:
                    entry["layers"] = [t.first_layer, t.layers]
            reads.append(entry | {"fetches": fetches})
        blocks = []
        for b, loads in zip(p.blocks, work.loads, strict=True):
            if b.blob not in self.names:
                self.names[b.blob] = self._unique(b.blob.name)
                where = self.weights.add(b.blob.rows)
                self.buffers.append({"name": self.names[b.blob], "kind": b.kind, **where})
            blocks.append({"block": b.name, "buffer": self.names[b.blob], "loads": loads})
        assert result.type.layout is not None
        sources = {r.source for r in p.reads}
        read = sum(tensor_bytes(s.type) for s in sources if not isinstance(s, Blob))
        read += sum(s.nbytes for s in sources if isinstance(s, Blob))
        read += sum(b.blob.nbytes for b in p.blocks)
        width, height, _ = result.type.extent
        written = width * height * len(p.layers) * FORMATS[result.type.layout.format].bytes
        if isinstance(p, ComputePass):
            own: dict[str, Any] = {
                "stage": "compute",
                "workgroup": [*p.workgroup, 1],
                "groups": [*map(expression, p.groups), 1],
                "image": 0,
            }
        else:
            own = {
                "stage": "fragment",
                "vertex": self.shaders.vertex,
                "viewport": [*map(expression, (width, height))],
            }
        return own | {
            "name": self._pass_name(p),
            "kernel": p.kernel,
            "shader": shader,
            "barriers": self.barriers[position],
            "layers": list(map(label, p.node.layers)),
            "reads": reads,
            "blocks": blocks,
            "uniforms": [
                {"name": u.name, "type": "int", "value": [expression(u.value)]} for u in p.uniforms
            ],
            "writes": [{"texture": self.names[self._owner(result)], "layer": n} for n in p.layers],
            "weights": p.weights,
            "macs": expression(p.macs),
            "bytes": {"read": expression(read), "written": expression(written)},
            "work": {
                "invocations": expression(p.invocations),
                "multiplies": work.multiplies,
                "operations": work.operations,
            }
            | ({"precision": "mediump"} if precision(p.node) == "mediump" else {}),
        }

    def _owner(self, source: Value | Blob) -> Value | Blob:
        """Return the tensor whose texture something lies in."""
        if isinstance(source, Blob) or source not in self.aliases:
            return source
        return self.aliases[source].owner

    def _pass_name(self, p: GpuPass) -> str:
        result = p.node.result
        if result not in self.names:  # it is an alias
            self.names[result] = self._unique(result.name)
        if len(p.layers) == result.type.layers:
            return self.names[result]
        first = result.type.first_layer
        return f"{self.names[result]}[{_ranges([k - first for k in p.layers])}]"

    def _unique(self, wish: str) -> str:
        wish = re.sub(r"[\x00-\x1f]", "?", label(wish))[:200]
        name, k = wish, 1
        while name in self.taken:
            k += 1
            name = f"{wish}#{k}"
        self.taken.add(name)
        return name

    def _texture(self, source: Value | Blob) -> None:
        source = self._owner(source)
        if source in self.names:
            return
        name = self.names[source] = self._unique(source.name)
        if isinstance(source, Blob):
            self.textures.append(self._weight_texture(source, name))
            return
        t = source.type
        assert t.layout is not None
        width, height, _ = t.extent
        first, last = self._alive(source)
        self.extents += [(width, source.name), (height, source.name)]
        self.textures.append(
            {
                "name": name,
                "kind": "2d" if t.is_stacked else t.layout.kind,
                "format": t.layout.format,
                "width": expression(width),
                "height": expression(height),
                "layers": expression(t.layers),
                **_packing(t),
                "slot": t.layout.slot,
                "first": first,
                "last": last,
                "data": self.weights.add(pack(source.data, t))
                if isinstance(source, Constant)
                else None,
            }
        )

    def _weight_texture(self, blob: Blob, name: str) -> dict[str, Any]:
        width = weight_texture_width(blob.count)
        height = -(-blob.count // width)
        self.extents += [(width, blob.name), (height, blob.name)]
        rest = np.zeros((height * width - blob.count, LANES))
        rows = (components(r, blob.format) for r in chain(blob.rows, [rest]))
        first, last = self._alive(blob)
        return {
            "name": name,
            "kind": "2d",
            "format": blob.format,
            "width": width,
            "height": height,
            "layers": 1,
            "packing": "rows",
            "channels": width * LANES,
            "batch": height,
            "slot": None,
            "first": first,
            "last": last,
            "data": self.weights.add(rows),
        }

    def _alive(self, source: Value | Blob) -> tuple[int, int]:
        """Return the first and last GPU pass that touch a texture; outputs live to the end."""
        touching = self.touching.get(source, ())
        if isinstance(source, Input) or not touching:
            return 0, max(touching, default=0)
        if any(o.value is source for o in self.graph.outputs):
            return touching[0], len(self.passes) - 1
        return touching[0], touching[-1]


def _packing(t: TensorType) -> dict[str, Any]:
    """Return how a tensor lies in its texture; a stacked map is planes x H x W x 4 in rows."""
    if t.is_stacked:
        rows = {"packing": "rows", "channels": LANES, "batch": expression(t.texels)}
        return rows | {"stacked": t.channels}
    batch = t.shape[0] if t.in_planes else t.size // t.channels
    packing = "planes" if t.in_planes else "rows"
    return {"packing": packing, "channels": expression(t.channels), "batch": expression(batch)}


def _port(name: str, texture: str, t: TensorType, port: Port) -> dict[str, Any]:
    shape = list(t.shape)
    if port.is_signed:
        shape[1] = 1
    return {
        "name": label(name),
        "texture": texture,
        "shape": [expression(shape[a]) for a in port.axes],
        "axes": list(port.axes),
        "dtype": t.dtype,
        "encoding": port.encoding,
    }
