"""OpenGL ES and EGL as the plain functions of their C headers.

Names, types and constants come from PyOpenGL. Its wrappers are not used: they call glGetError after
every call, which :meth:`Runner.run` must not do, and they depend on flags and a platform that the
application sets. Pointers are ``c_void_p``: pass ``array.ctypes.data``, a ctypes array, bytes or
None.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib import import_module
from typing import Any

from ...errors import ShadergenError, pip_install

_GLES_MODULES = (
    "GLES2.VERSION.GLES2_2_0",
    "GLES3.VERSION.GLES3_3_0",
    "GLES3.VERSION.GLES3_3_1",
    "GLES2.EXT.disjoint_timer_query",
    "GLES2.KHR.robustness",
)
_EGL_MODULES = (
    "EGL.VERSION.EGL_1_0",
    "EGL.VERSION.EGL_1_2",
    "EGL.VERSION.EGL_1_4",
    "EGL.EXT.device_base",
    "EGL.EXT.platform_base",
)
_SCALARS = (
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_float,
    ctypes.c_ubyte,
    ctypes.c_ssize_t,
    ctypes.c_uint64,
)
DRIVERS = "the GL libraries (Debian, Ubuntu: apt install libegl1 libgles2 libgl1-mesa-dri)"


class Library:
    """Functions and constants by their C names, each resolved on first use."""

    def __init__(self, modules: tuple[Any, ...], libraries: tuple[Any, ...], find: Any) -> None:
        self._modules = modules
        self._libraries = libraries
        self._find = find

    def __getattr__(self, name: str) -> Any:
        declared = next((getattr(m, name) for m in self._modules if hasattr(m, name)), None)
        if declared is None or name.startswith("_"):
            raise AttributeError(name)
        value = self._function(name, declared) if callable(declared) else int(declared)
        setattr(self, name, value)
        return value

    def _function(self, name: str, declared: Any) -> Any:
        address = self._address(name)
        if not address:
            raise AttributeError(f"{name} is not offered by this GL")
        result = _result_type(declared.restype)
        arguments = [a if a in _SCALARS else ctypes.c_void_p for a in declared.argtypes]
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def _address(self, name: str) -> int | None:
        for library in self._libraries:
            if library is not None and hasattr(library, name):
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        address: int | None = self._find(name.encode())
        return address


def asked(function: Any, *arguments: Any) -> int:
    """Return the integer that a GL function writes through its last argument, a pointer."""
    value = ctypes.c_int(0)
    function(*arguments, ctypes.byref(value))
    return value.value


def _result_type(declared: Any) -> Any:
    if declared is None or declared in _SCALARS:
        return declared
    # glGetString and eglQueryString give text, everything else a handle
    return (
        ctypes.c_char_p
        if "char" in _name(declared) or "ubyte" in _name(declared)
        else (ctypes.c_void_p)
    )


def _name(declared: Any) -> str:
    return str(getattr(declared, "__name__", declared)).lower()


@cache
def load_egl() -> Library:
    """Return EGL.

    Raises:
        ShadergenError: SG0601, when PyOpenGL or libEGL is not installed.
    """
    # without a choice PyOpenGL looks for GLX, which a machine without a screen may not have
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
    try:
        platform = import_module("OpenGL.platform").PLATFORM
        find = platform.EGL.eglGetProcAddress
        modules = tuple(import_module(f"OpenGL.raw.{name}") for name in _EGL_MODULES)
    except (ImportError, AttributeError, OSError, TypeError) as error:
        raise ShadergenError(
            "SG0601",
            "OpenGL ES cannot be loaded",
            why=str(error),
            help=f"install PyOpenGL: {pip_install('run')}\ninstall {DRIVERS}",
        ) from error
    prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
    address = ctypes.cast(find, ctypes.c_void_p).value
    assert address is not None
    return Library(modules, (platform.EGL,), prototype(address))


@cache
def load_gles() -> Library:
    """Return OpenGL ES 3.

    Raises:
        ShadergenError: SG0601, when PyOpenGL, libEGL or libGLESv2 is not installed.
    """
    egl = load_egl()
    modules = tuple(import_module(f"OpenGL.raw.{name}") for name in _GLES_MODULES)
    platform = import_module("OpenGL.platform").PLATFORM
    return Library(modules, (platform.GLES2,), egl.eglGetProcAddress)
