"""What :func:`~.face.compile_model` returns: a build that is called like the model."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.build_folder import SCHEDULE
from ..backends.writer import check_replaceable, write_build
from ..errors import ShadergenError, printable
from ..number_texts import bytes_text, passes_text
from ..records import dataclass
from ..runtime_glue.python.loading import build_without_files, check_schedule
from ..runtime_glue.python.summary import summary
from .compilation import Compilation
from .keyword_texts import in_keywords
from .models import naming_model
from .options import Options
from .user_shader import check_writable, write_user_shader

if TYPE_CHECKING:
    from .session import Session
    from .verification import Report


class TemporaryFolder:
    """A temporary folder, deleted with the last object that holds this one."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="shadergen-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class CompiledModel(Compilation):
    """A compiled model. Call it to run it.

    ``build(image)`` takes and returns arrays, or pictures of Pillow (:meth:`.session.Session
    .__call__`). The first call makes the GPU objects, which later calls use.

    Attributes:
        source: the file of the model.
        options: how it was compiled.
    """

    source: Path = field(default_factory=Path, repr=False)
    options: Options = field(default_factory=Options, repr=False)
    _folder: TemporaryFolder = field(default_factory=TemporaryFolder, repr=False)
    _written: bytes = field(default=b"", repr=False)  # the schedule

    @property
    def build(self) -> Path:
        """The folder of the build.

        Raises:
            ShadergenError: SG0605 for a user shader; SG0502 if another build is there now.
        """
        if self.user_shader is not None:
            raise ShadergenError(
                "SG0605",
                "a user shader cannot be called",
                why="video players run it",
                help='compile without target="mpv"; or save("net.glsl"), then: shadergen run '
                "net.glsl photo.png -o out.png",
            )
        schedule = self.output / SCHEDULE
        if not schedule.exists() or schedule.read_bytes() != self._written:
            raise ShadergenError(
                "SG0502",
                f"'{self.output}' holds another build than the one that was compiled",
                help="compile each model to its own folder; or compile without a folder, and call "
                "save(folder)",
            )
        return self.output

    @property
    def text(self) -> str:
        """The text of the user shader.

        Raises:
            ShadergenError: SG0605 for a build, which is a folder.
        """
        if self.user_shader is None:
            raise ShadergenError(
                "SG0605",
                "the compiled model is a build, not a user shader",
                help='compile with target="mpv"',
            )
        return self.user_shader.text

    @cached_property
    def _session(self) -> Session:
        from .session import Session

        return Session(self.build)

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """Run the build once.

        Args:
            inputs: arrays of numpy or tensors of PyTorch, in the order of the build's inputs and in
                the model's own shapes. Their values stay as they are: uint8 arrays hold 0 to 255.
                The input of a network from picture to picture may be a Pillow image, whose values
                become 0 to 1.
            named: inputs by their names.

        Returns:
            The output: a numpy array, or a Pillow image for a Pillow image. Several outputs are a
            dictionary of arrays by name.

        Raises:
            ShadergenError: SG0605 for inputs that do not fit the build, SG06xx where it cannot run.
        """
        with in_keywords():
            return self._session(*inputs, **named)

    def verify(
        self,
        /,
        *inputs: Any,
        reference: str = "auto",
        seed: int = 0,
        runtime: str = "auto",
        adapter: str = "",
    ) -> Report:
        """Compare with a reference implementation; see :func:`verify`.

        The file that the build was made from is compiled again. Changes that were made to a module
        since then are not in it. FFmpeg's libplacebo filter renders a user shader.

        Args:
            inputs: arrays or tensors to compare on, as those of a call; by default random numbers.
            reference: as for :func:`verify`, like the others.
            seed: of the random inputs.
            runtime: the runtime whose builds are verified.
            adapter: a part of the adapter's name.

        Raises:
            ShadergenError: as :func:`verify`; SG0605 for inputs that do not fit the build.
        """
        from .player.verification import verify_user_shader
        from .verification import verify_model

        if self.user_shader is not None:
            if runtime != "auto" or adapter or inputs:
                raise ShadergenError(
                    "SG0301",
                    "a user shader takes no runtime, adapter or inputs",
                    why="FFmpeg runs it, on pictures",
                    help="for a picture: shadergen verify MODEL --build net.glsl --input photo.png",
                )
            folder = TemporaryFolder()
            shader = folder.path / "net.glsl"
            self.save(shader)
            return verify_user_shader(self.source, shader, self.options, reference, seed)
        _ = self.build  # refuses what cannot be verified
        with in_keywords(), naming_model(self._folder.path):
            return verify_model(
                self.source,
                self.options,
                reference,
                seed,
                self._session.arrays(*inputs) if inputs else None,
                runtime=runtime,
                adapter=adapter,
            )

    def estimate(self, device: str) -> dict[str, float]:
        """Return the estimated milliseconds of a frame on GPUs, by their names.

        The size of the frame is the initial size of a dynamic build, and 1080x1920 for a user
        shader without an initial size. ``shadergen inspect --device`` shows each pass.

        Args:
            device: a device profile, such as "adreno-6xx".

        Raises:
            ShadergenError: SG0301 for an unknown profile, or one of GPUs without published rates.
        """
        from .estimation import estimate, gpus_of
        from .size_texts import at_defaults
        from .user_shader_frame import frame_for

        with in_keywords():
            gpus = gpus_of(device)
        if self.user_shader is None:
            data = at_defaults(self.files.schedule)
        else:
            data = frame_for(self.files, self.user_shader, self.options)
        frames = estimate(data, gpus)
        return {frame.gpu: frame.milliseconds for frame in frames}

    def save(self, output: str | Path) -> None:
        """Write the build, or the user shader; an earlier one is replaced.

        Raises:
            ShadergenError: SG0501 when it cannot be written.
        """
        output = Path(output)
        if self.user_shader is not None:
            check_writable(output)
            write_user_shader(self.user_shader.text, output)
            return

        def check(folder: Path) -> None:
            for name in (None, *self.variants):
                check_schedule(folder, name)

        check_replaceable(output)
        write_build(self.files, output, check, embed=self.options.embed is not None)

    def __repr__(self) -> str:
        """Return a few lines: inputs, outputs, device, GPU passes, memory, notes."""
        schedule = self.files.schedule
        notes = [f"note:     {note}" for note in self.notes]
        title = f"CompiledModel '{schedule['model']}' for {self.options.device}"
        if (written := self.user_shader) is not None:
            what = f"{passes_text(len(written.blocks))} on {written.hook}"
            lines = f"<{title}, a user shader: {what}, {bytes_text(len(written.text))}>"
            return "\n".join(map(printable, (lines, *notes)))
        build = build_without_files(self.output, schedule)
        lines = summary(build, title, schedule["weights"]["size"])
        return "\n".join((lines, *map(printable, notes)))

    def _repr_html_(self) -> str:
        """Return the GPU passes and their shaders, for notebooks."""
        from .notebook import html

        return html(self)
