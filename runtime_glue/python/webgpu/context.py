"""A WebGPU device of an adapter of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ....errors import ShadergenError
from .device import F16, TIMESTAMPS, DeviceInfo, query_device
from .package import load_wgpu
from .runner import Runner

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from ..schedule import Build

# Types of adapters without timestamps. Mesa's lavapipe writes those of a dispatch before its end.
UNTIMED = ("CPU",)
_DRIVERS = "a driver of Vulkan (Debian: apt-get install mesa-vulkan-drivers), Metal or Direct3D 12"


class HeadlessContext:
    """A device without a window, with all that its adapter offers.

    Args:
        adapter: a part of the adapter's name; by default the fastest adapter.

    Raises:
        ShadergenError: SG0601, when there is no such adapter; SG0606, without the package wgpu.
    """

    runtime: Literal["webgpu"] = "webgpu"

    def __init__(self, adapter: str = "") -> None:
        chosen = _adapter(load_wgpu(), adapter)
        wanted = (F16,) if chosen.info["adapter_type"] in UNTIMED else (F16, TIMESTAMPS)
        features = [name for name in wanted if name in chosen.features]
        self.device: Any = chosen.request_device_sync(
            required_features=features, required_limits=dict(chosen.limits)
        )

    def make_current(self) -> None:
        """Do nothing: a device is used by its objects, not by threads."""

    def runner(self, build: Build) -> Runner:
        """Return a runner of a build on this device."""
        return Runner(build, self.device)

    def info(self) -> DeviceInfo:
        """Describe the device."""
        return query_device(self.device)

    def release(self) -> None:
        """Do nothing: all threads may use a device, unlike a GL context."""

    def close(self) -> None:
        """Destroy the device and all that it has made."""
        self.device.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def list_adapters() -> list[DeviceInfo]:
    """Describe the adapters of this machine, by what their devices can have.

    Raises:
        ShadergenError: SG0601, when there is none; SG0606, without the package wgpu.
    """
    wgpu = load_wgpu()
    try:
        found = [query_device(adapter) for adapter in wgpu.gpu.enumerate_adapters_sync()]
    except Exception as error:
        raise _none(error) from None
    if not found:
        raise _none("wgpu lists none")
    return found


def _none(why: object) -> ShadergenError:
    return ShadergenError(
        "SG0601", "there is no WebGPU adapter", why=str(why), help=f"install {_DRIVERS}"
    )


def _title(adapter: Any) -> str:
    info = query_device(adapter)
    return f"{info.renderer}, {info.version}"


def _adapter(wgpu: Any, name: str) -> Any:
    try:
        if not name:
            found = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
            if query_device(found).draws_float:
                return found
            why = "wgpu finds OpenGL only, on which WebGPU does not draw to 32-bit floats"
            raise LookupError(why)
        adapters = wgpu.gpu.enumerate_adapters_sync()
    except Exception as error:  # wgpu's own class for a machine without adapters is private
        raise _none(error) from None
    for adapter in adapters:
        if query_device(adapter).matches(name):
            return adapter
    raise ShadergenError(
        "SG0601",
        f"no WebGPU adapter is called '{name}'",
        supported="\n".join(map(_title, adapters)) or "none: there is no adapter",
        help=f"install {_DRIVERS}" if not adapters else "",
    )
