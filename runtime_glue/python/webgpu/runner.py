"""Run a build on WebGPU: create all objects once; a frame then only encodes and submits."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....errors import ShadergenError, did_you_mean
from ..loading import resized
from ..pixels import decode, encode, host_array
from ..schedule import ComputePass
from .device import TIMESTAMPS, DeviceInfo, query_device
from .package import load_wgpu
from .pipelines import Pipelines
from .recording import record, uniform_rows
from .textures import (
    await_texture,
    check_readable,
    check_texture,
    fill_texture,
    make_texture,
    read_texture,
)
from .timer import Timer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from ..schedule import Build, Port
    from .context import HeadlessContext
    from .recording import Step


class Runner:
    """Runs one build on one WebGPU device.

    Args:
        build: from :func:`load`.
        context: a :class:`HeadlessContext`, or the application's ``wgpu.GPUDevice``.

    Raises:
        ShadergenError: SG0606, without the package wgpu.
    """

    def __init__(self, build: Build, context: HeadlessContext | Any) -> None:
        self.build = build
        self._wgpu = load_wgpu()
        self._device = context if isinstance(context, self._wgpu.GPUDevice) else context.device
        self._info: DeviceInfo | None = None
        self._textures: dict[str, Any] = {}  # by the names of tensors
        self._buffers: dict[str, Any] = {}
        self._given: set[str] = set()  # tensors in textures of the application
        self._filled: set[str] = set()  # inputs that were uploaded or bound
        self._steps: list[Step] | None = None
        self._timer: Timer | None = None
        self._timed = False

    # once

    def init(self) -> None:
        """Check the requirements, create all objects, compile all shaders. Only once.

        Raises:
            ShadergenError: SG0602 when the device lacks something, SG0603 when a shader does not
                compile.
        """
        if self._info:
            return
        info = query_device(self._device)
        try:
            info.check(self.build.requires)
            self._pipelines = Pipelines(self._wgpu, self._device)
            self._buffers = {name: self._buffer(name) for name in self.build.buffers}
            with self._named():
                self._textures = self._made(self.build)
                self._fill_constants()
                self._steps = self._recorded(self._textures)
        except ShadergenError as error:
            raise error.at(str(self.build.folder)) from None
        self._info = info

    def resize(self, **sizes: int) -> None:
        """Change dynamic sizes; sizes not named stay.

        Creates new textures: bind and upload again. Shaders and weights stay. If an error is
        raised, nothing has changed.

        Raises:
            ShadergenError: SG0605, if the build does not support these sizes; SG0602, if the device
                does not.
        """
        build = resized(self.build, sizes)
        if build is self.build:
            return
        if self._info:
            self._info.check(build.requires)
            self.build, self._textures = build, self._made(build)
            self._fill_constants()
            self._given.clear()
            self._filled.clear()
            self._steps = self._timer = None
        self.build = build

    # textures in and out

    def bind_input(self, name: str, texture: Any) -> None:
        """Read an input from the application's ``wgpu.GPUTexture``, of the tensor's layers.

        Raises:
            ShadergenError: SG0605 if the texture does not fit the schedule.
        """
        self._bind(self._port(self.build.inputs, "input", name), texture)

    def bind_output(self, name: str, texture: Any) -> None:
        """Write an output to the application's ``wgpu.GPUTexture``, of the tensor's layers.

        Raises:
            ShadergenError: SG0605 if the texture does not fit the schedule.
        """
        self._bind(self._port(self.build.outputs, "output", name), texture)

    def output_texture(self, name: str) -> Any:
        """Return the ``wgpu.GPUTexture`` of an output; each of its layers is a plane."""
        return self._textures[self._port(self.build.outputs, "output", name).texture]

    def upload(self, name: str, array: ArrayLike) -> None:
        """Copy an array of the model's own shape to the runner's texture, and read this texture.

        An input of encoding "unorm8" takes uint8 from 0 to 255 or floats from 0 to 1.

        Raises:
            ShadergenError: SG0605, when the array does not fit.
        """
        port = self._port(self.build.inputs, "input", name)
        texture = self.build.textures[port.texture]
        try:
            texels = encode(host_array(array, port), port, texture)
        except ShadergenError as error:
            raise error.at(f"input '{name}'") from None
        if port.texture in self._given:
            self._given.remove(port.texture)
            self._textures[port.texture] = self._make(port.texture, texture.layers)
            self._steps = None
        fill_texture(self._device, texture, self._textures[port.texture], texels)
        self._filled.add(port.texture)

    def read(self, name: str) -> NDArray[Any]:
        """Return an output as an array of the model's own shape and type. Waits for the GPU.

        Raises:
            ShadergenError: SG0605, if it is in a bound texture of another format, or in one that
                cannot be copied from; SG0604, if the device was lost.
        """
        port = self._port(self.build.outputs, "output", name)
        texture, made = self.build.textures[port.texture], self._textures[port.texture]
        check_readable(port, texture, made)
        with self._named():
            texels = read_texture(self._device, texture, made)
        return decode(texels, port, texture)

    # every frame

    def run(self, timed: bool = False) -> None:
        """Encode a frame and submit it; waits for nothing.

        Args:
            timed: measure each pass, for :meth:`timings`, where the device can.

        Raises:
            ShadergenError: SG0605, when an input has no texture yet;
                SG0604, if the device was lost.
        """
        with self._named():
            encoder = self._device.create_command_encoder()
            self.encode(encoder, timed)
            self._device.queue.submit([encoder.finish()])

    def encode(self, encoder: Any, timed: bool = False) -> None:
        """Record a frame into the application's ``wgpu.GPUCommandEncoder``.

        Several runners may record into one encoder: each reads what those before it wrote.
        """
        steps = self._frame()
        self._timed = timed and TIMESTAMPS in self._device.features
        if not self._timed:
            for step in steps:
                step.encode(encoder)
            return
        if self._timer is None:
            self._timer = Timer(self._wgpu, self._device, len(steps))
        for index, step in enumerate(steps):
            step.encode(encoder, **self._timer.of(index))
        self._timer.resolve(encoder)

    def run_stepwise(self) -> tuple[float, ...]:
        """Run a frame and wait for each pass; return their milliseconds by the CPU's clock."""
        elapsed = []
        for step in self._frame():
            begun = time.perf_counter()
            encoder = self._device.create_command_encoder()
            step.encode(encoder)
            self._device.queue.submit([encoder.finish()])
            self.wait()
            elapsed.append((time.perf_counter() - begun) * 1e3)
        return tuple(elapsed)

    def wait(self) -> None:
        """Wait until all frames so far are drawn, by reading a texel of an output."""
        await_texture(self._device, self._textures[self.build.outputs[0].texture])

    def timings(self) -> tuple[float, ...]:
        """Return the milliseconds of each pass in the last frame. Waits for the GPU.

        Empty if this frame was not timed, or if the device has no timestamps.
        """
        self._ready()
        return self._timer.milliseconds() if self._timed and self._timer else ()

    def check(self) -> None:
        """Do nothing: WebGPU has raised all errors by now."""
        self._ready()

    # last

    def close(self) -> None:
        """Destroy what the runner has made; the application's textures stay."""
        own = [made for name, made in self._textures.items() if name not in self._given]
        for made in {id(each): each for each in (*own, *self._buffers.values())}.values():
            made.destroy()
        self._textures, self._buffers, self._given, self._filled = {}, {}, set(), set()
        self._info = self._steps = self._timer = None

    def __enter__(self) -> Self:
        self.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # helpers

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what WebGPU reports as an error with a code."""
        try:
            yield
        except self._wgpu.GPUError as error:
            raise ShadergenError(
                "SG0604",
                "WebGPU reports an error",
                where=str(self.build.folder),
                why=str(error),
                help="if the device was lost or closed, make a new one and a new runner",
            ) from None

    def _check_ready(self) -> None:
        if self._info is None:
            raise ShadergenError(
                "SG0605",
                "the runner is not initialised",
                help="call init(), or use the runner in a with block",
            )

    def _ready(self) -> list[Step]:
        self._check_ready()
        if self._steps is None:
            self._steps = self._recorded(self._textures)
        return self._steps

    def _frame(self) -> list[Step]:
        steps = self._ready()
        for port in self.build.inputs:
            if port.texture not in self._filled:
                raise ShadergenError(
                    "SG0605",
                    f"the input '{port.name}' has no texture",
                    help="call bind_input() or upload() before run()",
                )
        return steps

    def _port(self, ports: tuple[Port, ...], kind: str, name: str) -> Port:
        self._check_ready()
        known = {port.name: port for port in ports}
        if name not in known:
            raise ShadergenError(
                "SG0605",
                f"the build has no {kind} '{name}'",
                supported=", ".join(known),
                help=did_you_mean(name, known),
            )
        return known[name]

    def _bind(self, port: Port, given: Any) -> None:
        stored = any(
            isinstance(p, ComputePass) and p.writes[0].texture == port.texture
            for p in self.build.passes
        )
        is_input = port in self.build.inputs
        uses = self._wgpu.TextureUsage
        use = (
            "TEXTURE_BINDING" if is_input else "STORAGE_BINDING" if stored else "RENDER_ATTACHMENT"
        )
        check_texture(port, self.build.textures[port.texture], given, uses, use)
        if self._textures[port.texture] is given:
            self._filled.add(port.texture)
            return
        self._textures[port.texture] = given
        self._given.add(port.texture)
        self._filled.add(port.texture)
        self._steps = None

    def _made(self, build: Build) -> dict[str, Any]:
        """Return a texture for each tensor; those of one slot share it."""
        layers: dict[int | str, int] = {}
        for texture in build.textures.values():
            place = _place(texture.name, texture.slot)
            layers[place] = max(layers.get(place, 0), texture.layers)
        places: dict[int | str, Any] = {}
        for texture in build.textures.values():
            place = _place(texture.name, texture.slot)
            if place not in places:
                places[place] = make_texture(self._wgpu, self._device, texture, layers[place])
        return {t.name: places[_place(t.name, t.slot)] for t in build.textures.values()}

    def _make(self, name: str, layers: int) -> Any:
        return make_texture(self._wgpu, self._device, self.build.textures[name], layers)

    def _fill_constants(self) -> None:
        for texture in self.build.textures.values():
            if texture.data is not None:
                texels = self.build.bytes_of(texture.data)
                fill_texture(self._device, texture, self._textures[texture.name], texels)

    def _buffer(self, name: str) -> Any:
        buffer = self.build.buffers[name]
        usage = self._wgpu.BufferUsage
        return self._device.create_buffer_with_data(
            label=name,
            data=self.build.bytes_of(buffer.range),
            usage=usage.STORAGE if buffer.is_storage else usage.UNIFORM,
        )

    def _recorded(self, textures: Mapping[str, Any]) -> list[Step]:
        alignment = self._device.limits["min-uniform-buffer-offset-alignment"]
        places, content = uniform_rows(self.build, alignment)
        sizes = None
        if content:
            usage = self._wgpu.BufferUsage.UNIFORM
            sizes = self._device.create_buffer_with_data(data=content, usage=usage)
        sampler = self._device.create_sampler()  # its defaults
        found = (places, sizes)
        return record(
            self._device, self.build, self._pipelines, textures, self._buffers, found, sampler
        )


def _place(name: str, slot: int | None) -> int | str:
    return name if slot is None else slot
