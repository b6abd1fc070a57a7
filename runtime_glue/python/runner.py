"""Run a build: create all GL objects once; a frame then only binds and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import ShadergenError, did_you_mean
from .device import query_device
from .gl import load_gles
from .loading import resized
from .objects import check_errors, forget_errors
from .pixels import decode, encode, host_array, shape_text
from .resources import MATRIX, Resources
from .textures import (
    await_textures,
    check_apart,
    check_textures,
    fill_textures,
    make_textures,
    names_of,
    read_textures,
)
from .timer import step_through

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from .recording import Frame
    from .schedule import Build, Port

_ROBUSTNESS = "GL_KHR_robustness"


class Context(Protocol):
    """The part of a GL context that a runner needs."""

    def make_current(self) -> None:
        """Let GL calls of this thread go to the context."""


class Runner:
    """Runs one build on one GL context.

    A frame resets its bindings to zero (textures and samplers of the units it used, image units,
    uniform and storage buffers, vertex array, program, draw framebuffer). It turns off
    blending, culling, dithering, depth, scissor and stencil tests, rasterizer discard,
    alpha-to-coverage and sample coverage, and changes the viewport. The application must set its
    own state afterwards.

    Args:
        build: from :func:`load`.
        context: made current before every use; None if the application does so itself.
        gl: the GL functions by their C names; by default the system's OpenGL ES.
    """

    def __init__(self, build: Build, context: Context | None = None, *, gl: Any = None) -> None:
        self.build = build
        self._context = context
        self._gl = load_gles() if gl is None else gl
        self._inputs = {port.name: port for port in build.inputs}
        self._outputs = {port.name: port for port in build.outputs}
        self._resources: Resources | None = None
        self._uploads: dict[str, tuple[int, ...]] = {}
        self._frame: Frame | None = None

    # once

    def init(self) -> None:
        """Check the requirements and create all GL objects. A second call does nothing.

        Raises:
            ShadergenError: SG0602 when the GL lacks something, SG0603 when a shader does not
                compile, SG0604 when GL reports an error.
        """
        if self._resources:
            return
        self._make_current()
        device = query_device(self._gl)
        try:
            device.check(self.build.requires)
            forget_errors(self._gl)
            self._resources = Resources(self._gl, self.build, device)
        except ShadergenError as error:
            raise error.at(str(self.build.folder)) from None

    def resize(self, **sizes: int) -> None:
        """Change dynamic sizes; sizes not named stay.

        Creates new textures: bind and upload again. Programs and weights stay. If an error is
        raised, nothing has changed.

        Raises:
            ShadergenError: SG0605, if the build does not support these sizes; SG0602, if the GL
                does not; SG0604, if GL reports an error.
        """
        build = resized(self.build, sizes)
        if build is self.build:
            return
        if self._resources:
            resources = self._ready()
            resources.device.check(build.requires)
            forget_errors(self._gl)
            resources.resize(build)
        self.build = build
        self._inputs = {port.name: port for port in build.inputs}
        self._outputs = {port.name: port for port in build.outputs}
        self._uploads.clear()
        self._frame = None

    # textures in and out

    def bind_input(
        self, name: str, texture: int | Sequence[int], matrix: ArrayLike | None = None
    ) -> None:
        """Read an input from the application's texture: an array texture, or its 2D textures.

        The texture is sampled nearest and clamped, with row 0 as the top; its own parameters stay.
        An external texture (``--input-external``) is read through its matrix and filtered by its
        own parameters. A new matrix for the bound texture costs nothing.

        Args:
            name: of the input.
            texture: of the application.
            matrix: of an external texture, and of no other: 16 numbers, column by column, that take
                (0, 0) to (1, 1), lower left to upper right of the picture, to coordinates of the
                texture, as Android's ``SurfaceTexture.getTransformMatrix`` gives them.

        Raises:
            ShadergenError: SG0605 if the texture does not fit the schedule, or a matrix is missing
                or not allowed.
        """
        port, resources = self._port(self._inputs, "input", name)
        numbers = self._matrix(port, matrix)
        given = names_of(port, self.build.textures[port.texture], texture)
        if numbers is None or resources.textures.get(port.texture) != given:
            self._check(port, given, resources)
            resources.textures[port.texture] = given
            self._frame = None
        if numbers is not None:
            resources.matrices[port.texture][:] = numbers

    def bind_output(self, name: str, texture: int | Sequence[int]) -> None:
        """Write an output to the application's texture: an array texture, or its 2D textures.

        Raises:
            ShadergenError: SG0605 if the texture does not fit the schedule; SG0602 if GL cannot
                draw to the texture, or if shaders store to the texture as an image and its storage
                is mutable or has another format.
        """
        port, resources = self._port(self._outputs, "output", name)
        before = resources.textures[port.texture]
        given = names_of(port, self.build.textures[port.texture], texture)
        self._check(port, given, resources)
        resources.textures[port.texture] = given
        self._frame = None
        try:
            resources.rebind(port)
        except ShadergenError as error:
            resources.textures[port.texture] = before
            resources.rebind(port)
            raise error.at(f"output '{name}'") from None

    def output_texture(self, name: str, layer: int = 0) -> int:
        """Return the GL texture of an output: its array texture, or the 2D texture of ``layer``."""
        port, resources = self._port(self._outputs, "output", name)
        names = resources.textures[port.texture]
        if not 0 <= layer < len(names):
            raise ShadergenError(
                "SG0605",
                f"the output '{name}' has no texture {layer}",
                supported=f"0 to {len(names) - 1}",
            )
        return names[layer]

    def upload(self, name: str, array: ArrayLike) -> None:
        """Copy an array of the model's own shape to the runner's texture, and read this texture.

        An input of encoding "unorm8" takes uint8 from 0 to 255 or floats from 0 to 1.

        Raises:
            ShadergenError: SG0605, when the array does not fit; SG0604, when GL reports an error.
        """
        port, resources = self._port(self._inputs, "input", name)
        texture = self.build.textures[port.texture]
        if texture.is_external:
            raise ShadergenError(
                "SG0605",
                f"the input '{name}' is an external texture, which takes no arrays",
                help="call bind_input() with a texture and its matrix",
            )
        try:
            texels = encode(host_array(array, port), port, texture)
        except ShadergenError as error:
            raise error.at(f"input '{name}'") from None
        forget_errors(self._gl)
        if name not in self._uploads:
            self._uploads[name] = make_textures(self._gl, resources.sized, texture)
        names = self._uploads[name]
        fill_textures(self._gl, texture, names, texels)
        check_errors(self._gl, f"the input '{name}' is uploaded")
        if resources.textures.get(port.texture) != names:
            resources.textures[port.texture] = names
            self._frame = None

    def read(self, name: str) -> NDArray[Any]:
        """Return an output as an array of the model's own shape and type. Waits for the GPU.

        Raises:
            ShadergenError: SG0604, when GL reports an error.
        """
        port, resources = self._port(self._outputs, "output", name)
        texture = self.build.textures[port.texture]
        names = resources.textures[port.texture]
        forget_errors(self._gl)
        texels = read_textures(self._gl, resources.read_framebuffer, texture, names)
        check_errors(self._gl, f"the output '{name}' is read")
        return decode(texels, port, texture)

    # every frame

    def run(self, timed: bool = False) -> None:
        """Draw a frame without allocating, querying or waiting; :meth:`check` reports errors.

        Args:
            timed: measure each pass, for :meth:`timings`, where the GL can.

        Raises:
            ShadergenError: SG0605, when an input has no texture yet.
        """
        frame = self._begin()
        timer = self._resources.timer if timed and self._resources else None
        if timer:
            timer.run(frame.passes)
        else:
            for calls in frame.passes:
                for function, arguments in calls:
                    function(*arguments)
        for function, arguments in frame.after:
            function(*arguments)

    def run_stepwise(self) -> tuple[float, ...]:
        """Draw a frame and wait for each pass; return their milliseconds by the CPU's clock.

        For GLs whose :meth:`timings` are missing or unreliable.

        Raises:
            ShadergenError: SG0605, when an input has no texture yet.
        """
        frame = self._begin()
        elapsed = step_through(self._gl, frame.passes)
        for function, arguments in frame.after:
            function(*arguments)
        return elapsed

    def _begin(self) -> Frame:
        self._make_current()
        frame = self._frame or self._record()
        for function, arguments in frame.before:
            function(*arguments)
        return frame

    def _record(self) -> Frame:
        resources = self._ready()
        for port in self.build.inputs:
            if port.texture not in resources.textures:
                raise ShadergenError(
                    "SG0605",
                    f"the input '{port.name}' has no texture",
                    help="call bind_input() or upload() before run()",
                )
        check_apart(self.build, resources.textures)
        self._frame = resources.record()
        return self._frame

    def wait(self) -> None:
        """Wait until the outputs of all frames so far are drawn, to measure time.

        Reads one texel of each output; ``textures.await_textures`` gives the reason.
        """
        resources = self._ready()
        for port in self.build.outputs:
            texture = self.build.textures[port.texture]
            names = resources.textures[port.texture]
            await_textures(self._gl, resources.read_framebuffer, texture, names)

    def timings(self) -> tuple[float, ...]:
        """Return the milliseconds of each pass in the last timed frame. Waits for the GPU.

        Empty if no frame was timed, if the GL lacks EXT_disjoint_timer_query, or if the GPU changed
        its clock meanwhile.
        """
        timer = self._ready().timer
        return timer.milliseconds() if timer else ()

    def check(self) -> None:
        """Raise the GL errors since the last check.

        Raises:
            ShadergenError: SG0604, when an error was made or the context was lost.
        """
        device = self._ready().device
        if _ROBUSTNESS in device.extensions and self._gl.glGetGraphicsResetStatusKHR():
            raise ShadergenError(
                "SG0604",
                "the GL context was lost: the GPU was reset",
                help="close the runner, make a new context and a new runner",
            )
        check_errors(self._gl, "frames are drawn or the application calls GL")

    # last

    def close(self) -> None:
        """Delete all GL objects; the application's textures stay. A second call does nothing."""
        if self._resources:
            try:
                self._make_current()
            except ShadergenError:
                pass  # the context is gone, and the objects with it
            else:
                self._resources.delete()
        self._resources = self._frame = None
        self._uploads.clear()

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

    def _make_current(self) -> None:
        if self._context is not None:
            self._context.make_current()

    def _ready(self) -> Resources:
        if self._resources is None:
            raise ShadergenError(
                "SG0605",
                "the runner is not initialised",
                help="call init(), or use the runner in a with block",
            )
        self._make_current()
        return self._resources

    def _port(self, ports: dict[str, Port], kind: str, name: str) -> tuple[Port, Resources]:
        resources = self._ready()
        if name not in ports:
            raise ShadergenError(
                "SG0605",
                f"the build has no {kind} '{name}'",
                supported=", ".join(ports),
                help=did_you_mean(name, ports),
            )
        return ports[name], resources

    def _matrix(self, port: Port, given: ArrayLike | None) -> list[float] | None:
        """Return the numbers of an external texture's matrix."""
        external = self.build.textures[port.texture].is_external
        if external == (given is None):
            wrong = "is not an external texture, and takes no matrix"
            if external:
                wrong = "takes an external texture and its matrix"
            raise ShadergenError("SG0605", f"'{port.name}' {wrong}")
        if given is None:
            return None
        numbers = np.asarray(given, np.float32)
        if numbers.shape != (MATRIX,) or not np.isfinite(numbers).all():
            raise ShadergenError(
                "SG0605",
                f"the matrix of '{port.name}' must be a flat list of {MATRIX} finite numbers, "
                "column by column",
                why="it holds NaN or infinity"
                if numbers.shape == (MATRIX,)
                else f"its shape is {shape_text(numbers.shape)}",
            )
        return list(map(float, numbers))

    def _check(self, port: Port, names: tuple[int, ...], resources: Resources) -> None:
        """Refuse textures of the application that do not fit a port, as far as GL can tell."""
        texture = self.build.textures[port.texture]
        forget_errors(self._gl)
        check_textures(self._gl, port, texture, names, levels=resources.device.es >= (3, 1))
        check_errors(self._gl, f"the texture of '{port.name}' is bound as {texture.kind}")
