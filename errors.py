"""Errors with four parts: what is wrong, where, why, and how to continue.

All parts of shadergen raise these errors, so this module imports none of them. A user's mistake is
a :class:`ShadergenError` (exit status 2, no traceback); a bug in shadergen is an
:class:`InternalError` (exit status 70). docs/errors.md is generated from ``CODES``.
"""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from tempfile import gettempdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from typing_extensions import Self

EXIT_DIFFERS = 1  # of ``verify`` and ``diff``
EXIT_USER_ERROR = 2
EXIT_INTERNAL_ERROR = 70

CODES: dict[str, str] = {
    # 01: reading a model file
    "SG0101": "the file is missing or cannot be opened",
    "SG0102": "the file is not a model in a supported format",
    "SG0103": "the file is damaged or truncated",
    "SG0104": "the file holds weights but no architecture",
    "SG0105": "the model is malformed: its parts contradict each other",
    "SG0106": "a weight is missing, has the wrong shape, or is not finite",
    "SG0107": "external data lies outside the model's folder, or is missing or too short",
    # 02: understanding a model
    "SG0201": "a layer or operator is not implemented",
    "SG0202": "an attribute, mode or argument of an operator is not implemented",
    "SG0203": "a Lambda or custom layer has no definition",
    "SG0204": "the model does not declare the size of an input",
    "SG0205": "shapes or types of tensors do not fit an operator",
    "SG0206": "a tensor's type or rank is not implemented",
    "SG0207": "a layer needs a fixed size where the build has a dynamic dimension",
    "SG0208": "the model has more inputs or outputs than a build can have",
    # 03: options and definitions
    "SG0301": "an option has an invalid value",
    "SG0302": "a definition file does not parse",
    "SG0303": "a definition names something unknown, or a call has wrong arguments",
    "SG0304": "the text form of a graph does not parse",
    "SG0305": "a tuning file is malformed or of another version",
    "SG0306": "a tuning file was measured on another renderer",
    # 04: fitting a device
    "SG0401": "a tensor exceeds a device limit",
    "SG0402": "a kernel exceeds a device limit",
    "SG0403": "the device lacks compute shaders, or the storage that --weights asks for",
    "SG0404": "a value cannot be represented in the chosen texture format",
    "SG0405": "a user shader cannot express the network",
    # 05: writing and reading a build
    "SG0501": "the output folder cannot be written",
    "SG0502": "the folder is not a shadergen build",
    "SG0503": "the schedule is malformed",
    "SG0504": "the schedule's version is not supported",
    "SG0505": "weights.bin is missing, truncated or altered, or a shader is missing",
    # 06: running on GL or WebGPU
    "SG0601": "no OpenGL ES context or WebGPU device can be made",
    "SG0602": "the GL or WebGPU lacks a feature or a limit that the build requires",
    "SG0603": "a shader does not compile or link on this GL or WebGPU",
    "SG0604": "the GL or WebGPU reported an error, or the context was lost",
    "SG0605": "an array, texture, size or name does not fit the build",
    "SG0606": "a Python package needed for this command is not installed",
    "SG0607": "a user shader cannot be run: FFmpeg with libplacebo is missing or failed",
    # 07: verifying
    "SG0701": "the build's results differ from the reference",
    "SG0702": "the reference implementation cannot run the model",
}

# What usually helps, for docs/errors.md; a message's own help is more precise.
CURES: dict[str, str] = {
    "SG0101": "check the path, and the permission to read it",
    "SG0102": "save the network as .keras or .h5, or export it to ONNX",
    "SG0103": "copy, download or export the file again",
    "SG0104": "save the whole model, not only its weights",
    "SG0105": "export the model again; for ONNX files, onnx.checker.check_model explains more",
    "SG0106": "if weights are NaN or infinite, mend the training; then export the model again",
    "SG0107": "keep the data files beside the model, in its folder",
    "SG0201": "end the model before the operator (--outputs), or define the operator (--define)",
    "SG0202": "change the argument in the model, or end the model before the operator (--outputs)",
    "SG0203": "write its formula into a file for --define",
    "SG0204": "give the size with --input-size HxW, or --input-size dynamic",
    "SG0205": "check --input-size and --inputs: sizes may need to be multiples of 8, 16 or 32",
    "SG0206": "cast the tensor to float32 in the model, or cut the model with --outputs",
    "SG0207": "compile for a fixed size: --input-size HxW",
    "SG0208": "keep fewer with --inputs and --outputs",
    "SG0301": "take a value that the message lists; shadergen COMMAND --help-all explains it",
    "SG0302": "correct the line that the message shows; docs/expressions.md has the grammar",
    "SG0303": "take the name that the message suggests; shadergen ops lists names",
    "SG0304": "correct the line that the message shows",
    "SG0305": "measure again: shadergen tune",
    "SG0306": "compile for the GPU that the tuning file was measured on, or add --foreign-tuning",
    "SG0401": "take a smaller --input-size, or a --device with larger textures",
    "SG0402": "take other --weights, --mrt or --stage, or a --device with higher limits",
    "SG0403": "take a --device with compute shaders, or omit --stage and --weights",
    "SG0404": "store the value in another format: --precision highp, --output-encoding float",
    "SG0405": "replace the named layer, end the model before it (--outputs), or omit --target mpv",
    "SG0501": "choose another -o folder, move your own files out of the folder, or free disk space",
    "SG0502": "give the folder that holds schedule.json",
    "SG0503": "compile the model again; do not edit schedule.json by hand",
    "SG0504": "compile the model again, or use the version of shadergen that wrote the build",
    "SG0505": "copy the whole folder of the build again",
    "SG0601": "install a driver or Mesa's software renderer; shadergen doctor says what is missing",
    "SG0602": "compile for this device: --device with the profile that shadergen doctor names",
    "SG0603": "report the driver's message; try --device gles30-min or --stage fragment",
    "SG0604": "report the error; after a lost context, make a new context and initialise again",
    "SG0605": "give arrays and pictures the shapes and names that shadergen inspect prints",
    "SG0606": "install the package that the message names",
    "SG0607": "install FFmpeg with libplacebo and a Vulkan driver",
    "SG0701": "verify with --precision highp; if the results still differ, report the model",
    "SG0702": "install the framework that the message names, or take another --reference",
}


class ShadergenError(Exception):
    """A mistake of the user.

    Args:
        code: a key of ``CODES``.
        what: one line that says what is wrong, in the user's words.
        where: file, node, layer, shape; the outermost first.
        why: the limit or rule that is violated.
        supported: the values that are accepted.
        help: the command or option that helps.
    """

    def __init__(
        self,
        code: str,
        what: str,
        *,
        where: str | Iterable[str] = (),
        why: str = "",
        supported: str = "",
        help: str = "",
    ) -> None:
        if code not in CODES:
            raise KeyError(f"unknown error code {code}")
        super().__init__(what)
        self.code = code
        self.what = what
        self.where = (where,) if isinstance(where, str) else tuple(where)
        self.why = why
        self.supported = supported
        self.help = help

    def at(self, where: str) -> Self:
        """Add an outer location (such as the file of a node) and return the same error."""
        if where not in self.where:
            self.where = (where, *self.where)
        return self

    def render(self) -> str:
        """Return the message as printed on the terminal, without a final newline.

        Quoted names are safe to print: see :func:`printable`.
        """
        lines = [f"error[{self.code}]: {self.what}"]
        if self.where:
            lines.append(f"  --> {': '.join(self.where)}")
        for label, text in (("why", self.why), ("supported", self.supported), ("help", self.help)):
            lines.extend(f"  = {label}: {line}" for line in text.split("\n") if text)
        return "\n".join(map(printable, lines))

    def __str__(self) -> str:
        return self.render()


class InternalError(Exception):
    """A bug in shadergen. The message names the shader, pass or node, and the folder of the IR."""


def printable(line: str) -> str:
    r"""Return text as one line with control characters escaped: ``\x1b``, ``\u202e``.

    Messages quote names from model files. Such a name could move the cursor, forge lines, or
    reverse the text beside it, and a lone surrogate cannot be printed.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def reason(error: Exception) -> str:
    """Return the system's reason for a failure, without error number and path."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


FREE_SPACE = "free disk space, or write to another folder"
FREE_TEMPORARY = "free disk space, or set the environment variable TMPDIR to another folder"


def unwritable(what: str, error: OSError, help: str) -> ShadergenError:
    """Return the refusal of something that the system cannot write.

    Args:
        what: what cannot be written, and where.
        error: the system's.
        help: what the user can do.
    """
    return ShadergenError("SG0501", f"cannot write {what}", why=reason(error), help=help)


def unwritable_for_now(what: str, error: OSError) -> ShadergenError:
    """Return the refusal of something that the folder for temporary files cannot hold."""
    where = "the folder for temporary files"
    with suppress(OSError):  # there may be none
        where = f"'{gettempdir()}'"
    return unwritable(f"{what} to {where}", error, FREE_TEMPORARY)


def pip_install(extra: str) -> str:
    """Return the commands that install an extra: in a clone, which always works, and by name."""
    return f"pip install '.[{extra}]' in a clone, or pip install 'shadergen[{extra}]'"


def few(names: Iterable[str], most: int = 8) -> str:
    """Return the first names and the number of further names."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count(number: int, noun: str) -> str:
    """Return ``1 layer`` or ``2 layers``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def require_inputs(option: str, names: Iterable[str], inputs: Collection[str]) -> None:
    """Refuse an option that names inputs that the model does not have.

    Raises:
        ShadergenError: SG0301 naming the first.
    """
    for name in names:
        if name not in inputs:
            raise ShadergenError(
                "SG0301",
                f"--{option} names '{name}', which is not an input",
                supported=few(inputs),
                help=did_you_mean(name, inputs),
            )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the nearest known name, or an empty string.

    That is the only known name that begins with the given one, or else the most similar one.
    """
    folded = {k.casefold(): k for k in sorted(known)}
    near = [k for k in folded if name and k.startswith(name.casefold())]
    if len(near) != 1:
        near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f"did you mean '{folded[near[0]]}'?" if near else ""


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known names that are most similar to a name, and the number of others."""
    near = get_close_matches(name, known, n=5, cutoff=0.0)
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    return ", ".join(near) + more
