"""An OpenGL ES 3 context without a window, by EGL.

The order of attempts is: GPUs among EGL's devices, Mesa's surfaceless platform, other devices, the
default display. Each is asked for OpenGL ES 3.2, then 3.1, then 3.0. GPUs come first because Mesa's
surfaceless platform may be its software renderer beside another vendor's GPU. Where an adapter is
named, the first of its name is taken.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ShadergenError
from .device import DeviceInfo, query_device
from .gl import DRIVERS, load_egl, load_gles
from .runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Self

    from .schedule import Build

PLATFORMS = ("surfaceless", "device", "default")
VERSIONS = ((3, 2), (3, 1), (3, 0))

# PyOpenGL does not declare these
_PLATFORM_SURFACELESS_MESA = 0x31DD
_PLATFORM_DEVICE_EXT = 0x313F
_OPENGL_ES3_BIT = 0x40
_CONTEXT_MAJOR, _CONTEXT_MINOR = 0x3098, 0x30FB
_RESET_STRATEGY_EXT, _LOSE_CONTEXT_ON_RESET = 0x3138, 0x31BF
_MAX_DEVICES = 32
# any of these extensions has eglQueryDevicesEXT, and eglQueryDeviceStringEXT
_DEVICE_LISTS = frozenset({"EGL_EXT_device_base", "EGL_EXT_device_enumeration"})
_DEVICE_STRINGS = frozenset({"EGL_EXT_device_base", "EGL_EXT_device_query"})
_SOFTWARE_DEVICE = b"EGL_MESA_device_software"


class HeadlessContext:
    """A context that draws to textures only. Several may exist at the same time.

    A new context is current on the calling thread. The EGL display stays open until the process
    ends, because other contexts may share it.

    Args:
        platform: the only one of ``PLATFORMS`` to try; by default all.
        device: index of the EGL device for platform "device"; by default the first that works.
        adapter: a part of the renderer's name; by default the first renderer.

    Raises:
        ShadergenError: SG0601, listing the attempts.
    """

    runtime: Literal["gles"] = "gles"

    def __init__(
        self, platform: str | None = None, device: int | None = None, adapter: str = ""
    ) -> None:
        if platform is not None and platform not in PLATFORMS:
            raise ShadergenError(
                "SG0301", f"there is no platform '{platform}'", supported=", ".join(PLATFORMS)
            )
        self._egl = load_egl()
        self.gl: Any = load_gles()
        self._display: int | None = None
        self._context: int | None = None
        self._surface: int | None = None
        tried, renderers = [], []
        for name, display in self._displays(platform, device):
            reason = self._open(display)
            if reason:
                tried.append(f"{name}: {reason}")
                continue
            renderer = self.info().renderer
            if adapter.lower() in renderer.lower():
                self.platform = name
                return
            renderers.append(renderer)
            self.close()
        if renderers:
            raise ShadergenError(
                "SG0601",
                f"no OpenGL ES renderer is called '{adapter}'",
                supported="\n".join(dict.fromkeys(renderers)),
            )
        raise ShadergenError(
            "SG0601",
            "EGL cannot create an OpenGL ES 3 context",
            why="\n".join(tried) or "EGL lists no such platform or device",
            help=f"install a driver, or {DRIVERS}",
        )

    def _displays(self, platform: str | None, device: int | None) -> Iterator[tuple[str, Any]]:
        egl = self._egl
        extensions = _client_extensions(egl)
        devices = list_devices(egl)
        if platform == "device":
            names = [name for name in devices if device is None or name == f"device {device}"]
        elif platform is not None:
            names = [platform]
        else:
            gpus = [name for name, (_, software) in devices.items() if not software]
            others = [name for name in devices if name not in gpus]
            names = [*gpus, "surfaceless", *others, "default"]
        for name in names:
            if name in devices:
                handle, _ = devices[name]
                yield name, egl.eglGetPlatformDisplayEXT(_PLATFORM_DEVICE_EXT, handle, None)
            elif name == "default":
                yield name, egl.eglGetDisplay(None)
            elif "EGL_MESA_platform_surfaceless" in extensions:
                yield name, egl.eglGetPlatformDisplayEXT(_PLATFORM_SURFACELESS_MESA, None, None)

    def _open(self, display: int | None) -> str:
        """Make a context on a display; return the reason for a failure, or an empty string."""
        egl = self._egl
        if not display:
            return "there is no such display"
        if not egl.eglInitialize(display, None, None):
            return f"eglInitialize failed ({self._error()})"
        if not egl.eglBindAPI(egl.EGL_OPENGL_ES_API):
            return "OpenGL ES is not offered"
        extensions = egl.eglQueryString(display, egl.EGL_EXTENSIONS).decode().split()
        surfaceless = "EGL_KHR_surfaceless_context" in extensions
        config = self._config(display, surfaceless)
        if config is None:
            return "there is no configuration for OpenGL ES 3"
        robust = "EGL_EXT_create_context_robustness" in extensions
        context = self._create(display, config, robust)
        if not context:
            return f"eglCreateContext failed ({self._error()})"
        surface = None
        if not surfaceless:
            size = _attributes(egl.EGL_WIDTH, 1, egl.EGL_HEIGHT, 1)
            surface = egl.eglCreatePbufferSurface(display, config, size)
        self._display, self._context, self._surface = display, context, surface
        if not egl.eglMakeCurrent(display, surface, surface, context):
            reason = f"eglMakeCurrent failed ({self._error()})"
            self.close()
            return reason
        return ""

    def _config(self, display: int, surfaceless: bool) -> int | None:
        egl = self._egl
        kinds = (egl.EGL_PBUFFER_BIT, 0) if surfaceless else (egl.EGL_PBUFFER_BIT,)
        config, count = ctypes.c_void_p(), ctypes.c_int(0)
        for kind in kinds:
            wanted = _attributes(
                egl.EGL_SURFACE_TYPE, kind, egl.EGL_RENDERABLE_TYPE, _OPENGL_ES3_BIT
            )
            egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
            if count.value:
                return config.value
        return None

    def _create(self, display: int, config: int, robust: bool) -> int | None:
        """Create a context of the highest version, with reset notification if supported."""
        reset = (_RESET_STRATEGY_EXT, _LOSE_CONTEXT_ON_RESET)
        for major, minor in VERSIONS:
            version = (_CONTEXT_MAJOR, major, _CONTEXT_MINOR, minor)
            for wanted in ((*version, *reset), version) if robust else (version,):
                context: int | None = self._egl.eglCreateContext(
                    display, config, None, _attributes(*wanted)
                )
                if context:
                    return context
        # EGL 1.4 knows no minor versions
        plain: int | None = self._egl.eglCreateContext(
            display, config, None, _attributes(_CONTEXT_MAJOR, 3)
        )
        return plain

    def _error(self) -> str:
        return f"EGL error 0x{self._egl.eglGetError():04x}"

    def make_current(self) -> None:
        """Make this context current on the calling thread."""
        egl = self._egl
        if self._context is None:
            raise ShadergenError("SG0601", "the GL context is closed")
        if egl.eglGetCurrentContext() == self._context:
            return
        if not egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context):
            raise ShadergenError(
                "SG0601",
                "the GL context cannot be made current",
                why=self._error(),
                help="a context can be current on one thread only: first call release() on the "
                "other thread",
            )

    def release(self) -> None:
        """Release the context from this thread, so that another thread can make it current."""
        if self._context is not None and self._egl.eglGetCurrentContext() == self._context:
            self._egl.eglMakeCurrent(self._display, None, None, None)

    def runner(self, build: Build) -> Runner:
        """Return a runner of a build on this context."""
        return Runner(build, self)

    def info(self) -> DeviceInfo:
        """Return vendor, renderer, version, extensions and limits."""
        self.make_current()
        return query_device(self.gl)

    def close(self) -> None:
        """Destroy the context and all its GL objects."""
        self.release()
        if self._surface:
            self._egl.eglDestroySurface(self._display, self._surface)
        if self._context:
            self._egl.eglDestroyContext(self._display, self._context)
        self._context = self._surface = None

    def __enter__(self) -> Self:
        self.make_current()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _client_extensions(egl: Any) -> frozenset[str]:
    return frozenset((egl.eglQueryString(None, egl.EGL_EXTENSIONS) or b"").decode().split())


def list_devices(egl: Any) -> dict[str, tuple[int | None, bool]]:
    """Return the devices that EGL lists by name: the handle, and whether it is software."""
    extensions = _client_extensions(egl)
    if "EGL_EXT_platform_device" not in extensions or not extensions & _DEVICE_LISTS:
        return {}
    told = bool(extensions & _DEVICE_STRINGS)
    handles = (ctypes.c_void_p * _MAX_DEVICES)()
    count = ctypes.c_int(0)
    egl.eglQueryDevicesEXT(_MAX_DEVICES, handles, ctypes.byref(count))
    found = {}
    for i, handle in enumerate(handles[: count.value]):
        names = egl.eglQueryDeviceStringEXT(handle, egl.EGL_EXTENSIONS) if told else None
        found[f"device {i}"] = handle, _SOFTWARE_DEVICE in (names or b"").split()
    return found


def _attributes(*values: int) -> Any:
    none = 0x3038  # EGL_NONE
    return (ctypes.c_int * (len(values) + 1))(*values, none)
