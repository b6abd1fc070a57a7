"""A build as it runs, beside the interpreter of its graph on the same inputs."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.gpu import Blob
from ...backends.schedule import label
from ...errors import ShadergenError
from ...passes.placement.aliases import aliases_of
from ...records import dataclass
from ...runtime_glue.python.loading import load
from ..judging import UNORM8_STEP, error_and_bound, judge, tolerance_of
from ..runtimes import GLES, WEBGPU, open_context
from ..session import fitted
from ..ties import find_pick, only_ties
from .interpreted import interpreted
from .pixels import difference, worst_pixel
from .probes import as_map, as_stored, from_map, isolated, probed, run
from .stored import determined_elements, stored_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ...ir.graph import Graph, Value
    from ...runtime_glue.python.schedule import Build
    from ..compilation import Compilation
    from ..runtimes import Context
    from ..verification import Verification
    from .pixels import Pixel
    from .stored import Stored


@dataclass(frozen=True)
class LayerError:
    """The comparison of a stored tensor.

    Attributes:
        name: of the tensor in the build.
        layers: of the model that its GPU passes compute; it is the result of the last.
        kernel: what computes it, such as "fragment convolution".
        passes: the positions of its GPU passes in the schedule.
        shape: the logical shape, such as N, C, H, W.
        max_error: the largest absolute error.
        mean_error: their mean, of the elements that the inputs determine.
        bound: the largest that is accepted.
        pixel: the worst; None without an error.
        tied: whether the tensor holds indices that differ only where scores are equal.
        errors: all absolute errors; 0 where kernels may write anything.
    """

    name: str
    layers: tuple[str, ...]
    kernel: str
    passes: tuple[int, ...]
    shape: tuple[int, ...]
    max_error: float
    mean_error: float
    bound: float
    pixel: Pixel | None
    tied: bool = False
    errors: NDArray[Any] = field(default_factory=lambda: np.zeros(()), repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.max_error <= self.bound or self.tied


class Inside:
    """A build on a runtime, and the interpreter of its graph on the same inputs.

    Args:
        verified: the verification of one build.
        option: that looks inside, for messages.

    Raises:
        ShadergenError: SG0301 for several builds, and for a dynamic build at other sizes than its
            default ones.
    """

    def __init__(self, verified: Verification, option: str) -> None:
        self.verified = verified
        variant, self.compiled = _only(verified, option)
        self.build = _loaded(verified, variant, option)
        self.runtime = WEBGPU if self.build.requires.wgsl else GLES
        self.stored = stored_tensors(self.compiled)
        self.determined = determined_elements(self.compiled.graph)
        self.options = verified.options_of(variant)
        self.tolerance = tolerance_of(self.options)
        names = {label(i.name): i.name for i in self.compiled.graph.inputs}
        self.inputs = {names[name]: array for name, array in verified.inputs.items()}

    @property
    def graph(self) -> Graph:
        """The graph as compiled."""
        return self.compiled.graph

    def context(self) -> Context:
        """Open a context of the build's runtime.

        Raises:
            ShadergenError: SG0601, SG0606.
        """
        return open_context([self.runtime], self.verified.adapter)

    def expected(self) -> dict[Value, NDArray[Any]]:
        """Return what each stored tensor should be."""
        return interpreted(self.graph, self.inputs, {s.value for s in self.stored})

    def computed(self, context: Context) -> dict[str, NDArray[Any]]:
        """Return the outputs and all textures that the build writes (:func:`.probes.probed`)."""
        return run(context, probed(self.build), self.verified.inputs)

    def outputs_match(self, computed: Mapping[str, NDArray[Any]]) -> bool:
        """Whether outputs, by name, are what the reference expects."""
        verified = self.verified
        outputs = self.graph.outputs
        errors, _ = judge(outputs, computed, verified.expected, verified.options)
        return all(e.ok for e in errors)

    def compared(self, stored: Stored, got: NDArray[Any], expected: NDArray[Any]) -> LayerError:
        """Compare the elements of a tensor that the inputs determine."""
        want = np.asarray(expected, np.float64)
        known = self.determined.get(stored.value, np.broadcast_to(True, want.shape))
        error, bound = error_and_bound(difference(got, want), want, self.tolerance, known)
        if self.build.textures[stored.texture].bits == 8:
            want = want.clip(0, 1)
            bound += UNORM8_STEP
            error = difference(got, want)
        error = np.where(known, error, 0.0)
        most = float(error.max(initial=0))
        pixel, tied = None, False
        if most > 0:
            pixel = worst_pixel(
                stored, got, want, error, self.build, self.compiled.files.store_lines
            )
        if stored.value.type.dtype != "float32":
            bound = min(bound, 0.5)
            tied = most > bound and self._is_tied(stored, want, got)
        mean = float(error[known].mean()) if known.any() else 0.0
        return LayerError(
            stored.name, stored.layers, stored.kernel, stored.passes, stored.shape, most, mean,
            bound, pixel, tied, error.astype(np.float32),
        )  # fmt: skip

    def _is_tied(self, stored: Stored, want: NDArray[Any], got: NDArray[Any]) -> bool:
        pick = find_pick(stored.value)
        if pick is None or self.build.sizes is not None:
            return False
        return only_ties(pick, self.graph, self.inputs, want, got, self.tolerance)


class Alone:
    """Runs the GPU passes of one tensor on right inputs: those of the interpreter, rounded."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self._values = _owners(inside)
        wanted = {*self._values.values(), *(s.value for s in inside.stored)}
        self._right = interpreted(inside.graph, inside.inputs, wanted, rounded=True)

    def compared(self, context: Context, stored: Stored) -> LayerError:
        """Run the passes of a tensor, and compare.

        Raises:
            ShadergenError: SG06xx.
        """
        part = isolated(self.inside.build, stored.passes)
        inputs = {}
        for port in part.inputs:
            right, texture = self._right[self._values[port.texture]], part.textures[port.texture]
            inputs[port.name] = from_map(as_stored(right, texture), texture).reshape(port.shape)
        (got,) = run(context, part, inputs).values()
        got = as_map(got, self.inside.build.textures[stored.texture])
        return self.inside.compared(stored, stored.taken(got), self._right[stored.value])


def _owners(inside: Inside) -> dict[str, Value]:
    """Return the tensors that own the textures that passes read, by the textures' names."""
    aliases = aliases_of(inside.graph)
    files = inside.compiled.files
    found: dict[str, Value] = {}
    for gpu_pass, entry in zip(files.passes, files.schedule["passes"], strict=True):
        for read, named in zip(gpu_pass.reads, entry["reads"], strict=True):
            if not isinstance(read.source, Blob):
                alias = aliases.get(read.source)
                found[named["texture"]] = read.source if alias is None else alias.owner
    return found


def _only(verified: Verification, option: str) -> tuple[str, Compilation]:
    """Return the one build of a verification, and the name of its variant."""
    if len(verified.builds) > 1:
        devices = [verified.options.device, *verified.options.variants]
        raise ShadergenError(
            "SG0301",
            f"{option} needs a single device, not {len(verified.builds)}",
            why=f"--device {','.join(devices)} makes a variant for each device",
            help=f"name one device, for example --device {devices[0]}",
        )
    ((variant, compiled),) = verified.builds.items()
    return variant, compiled


def _loaded(verified: Verification, variant: str, option: str) -> Build:
    """Load the build of a verification; the interpreter knows its default sizes only."""
    build = load(verified.folder, variant=variant or None)
    shapes = {name: array.shape for name, array in verified.inputs.items()}
    sized = fitted(build, shapes)
    if sized.sizes is not None and build.sizes is not None and sized.sizes != build.sizes:
        sizes = "x".join(str(n) for n in build.sizes.values.values())
        raise ShadergenError(
            "SG0301",
            f"{option} needs inputs of the dynamic build's initial size, {sizes}",
            help="--input-size dynamic:HxW sets the initial size",
        )
    return sized
