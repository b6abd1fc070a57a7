"""The Python runtime on WebGPU: runs builds of WGSL on Metal, Direct3D 12 or Vulkan.

>>> with HeadlessContext() as context, Runner(load("build"), context) as runner:
...     runner.upload("img", image)
...     runner.run()
...     result = runner.read("out")

The names are those of the runtime on OpenGL ES (:mod:`..`). WebGPU comes from the package wgpu.
"""

from __future__ import annotations

from ..loading import load, resized
from ..schedule import Build
from .context import HeadlessContext, list_adapters
from .device import DeviceInfo, query_device
from .runner import Runner

__all__ = [
    "Build",
    "DeviceInfo",
    "HeadlessContext",
    "Runner",
    "list_adapters",
    "load",
    "query_device",
    "resized",
]
