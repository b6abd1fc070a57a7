"""The compared programs, a file each, with one interface: :class:`Contender`.

A contender that is missing something says so (:class:`Unavailable`) and stands in the tables with
its reason. Modules of the programs are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from ..networks import Model

Array = NDArray[Any]
# llvmpipe, softpipe and swrast are Mesa's; Google's; Direct3D's WARP behind ANGLE; Apple's.
SOFTWARE = ("llvmpipe", "softpipe", "swrast", "swiftshader", "basic render", "software")
EXACT, HALF = 1e-4, 1e-2  # times max(1, the largest output): what 32 and 16 bits may differ by


def is_software(renderer: str) -> bool:
    """Return whether a renderer of this name computes on the processor."""
    return any(word in renderer.lower() for word in SOFTWARE)


class Unavailable(Exception):
    """A program, or a device for it, is not there. The text is the reason."""


@dataclass(frozen=True)
class Setting:
    """The settings that all contenders share.

    Attributes:
        profile: the device profile of the GL at hand, as ``shadergen doctor --save`` writes it.
        renderer: what that GL calls itself.
        cores: of the processor.
    """

    profile: Path
    renderer: str
    cores: int

    @property
    def software(self) -> bool:
        """Whether that GL computes on the processor."""
        return is_software(self.renderer)


@dataclass(frozen=True)
class Running:
    """A network that is ready.

    Attributes:
        frame: from an input in memory to the output in memory, finished.
        resident: the same from the last input, which the device still has, to an output there;
            None where the program cannot.
    """

    frame: Callable[[Array], Array]
    resident: Callable[[], None] | None = None


class Contender(Protocol):
    """A program that can run a network. Every call is made in a process of its own.

    Attributes:
        name: in tables.
        tolerance: how far its output may be off, times max(1, the largest output).
    """

    @property
    def name(self) -> str: ...

    @property
    def tolerance(self) -> float: ...

    def version(self, setting: Setting) -> str:
        """Return the program's version and its device.

        Raises:
            Unavailable: when it cannot run here.
        """

    def convert(self, model: Model, folder: Path, setting: Setting) -> dict[str, Any]:
        """Convert the model once, ahead of time, into files for :meth:`start` in the folder.

        Returns:
            What it tells about the result: "passes" and "macs", where there are such numbers, and
            "options", the ones that it found to be the fastest.

        Raises:
            Exception: of any kind, when it cannot take the network.
        """

    def start(self, model: Model, folder: Path, setting: Setting) -> Running:
        """Load what :meth:`convert` wrote."""


def contenders(software: bool, timed: bool, short: bool = False) -> list[Contender]:
    """Return who takes part, in the order of the tables.

    Args:
        software: whether GL computes on the processor. What computes on nothing but a GPU is left
            out there.
        timed: whether frames will be measured. For the start alone nobody tunes.
        short: whether only those take part whose ratio is kept of every run.
    """
    from .litert_gpu import LiteRt
    from .ncnn_vulkan import NcnnVulkan
    from .onnx_runtime import OnnxRuntime
    from .own import Own
    from .pytorch import PyTorch

    if short:
        return [Own("auto", {}), NcnnVulkan()]
    half = [
        Own("auto, 16 bits", {"precision": "mediump"}, tolerance=HALF),
        NcnnVulkan("ncnn, 16 bits", half=True, tolerance=HALF),
    ]
    return [
        Own("fragment", {"stage": "fragment"}),
        Own("compute", {"stage": "compute"}),
        Own("auto", {}),
        *([Own("tuned", {}, tuned=True)] if timed else []),
        NcnnVulkan(search=timed),
        *(half if timed else []),
        *([] if software else [LiteRt(), PyTorch()]),
        OnnxRuntime(),
    ]
