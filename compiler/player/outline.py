"""What a user shader does to a picture of a size, read from the file without running it."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from ...backends.user_shader.hooks import STAGES
from ...errors import ShadergenError, reason
from ...number_texts import passes_text
from ...records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

SUFFIX = ".glsl"
HOOK, START = re.compile(rb"^//!HOOK ", re.MULTILINE), 4096  # within so many bytes
BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # in model files, not in user shaders
CHROMA = "CHROMA"
ABSENT = {"SCALED"}  # stages that FFmpeg's filter has only where it scales the result
PLENTY = 1e6  # a side of the output, so that upscalers want to run
LINE = re.compile(r"//!([A-Z]+)[ \t]+(.*?)[ \t]*$", re.MULTILINE)
SECTION = re.compile(r"^(?=//!(?:HOOK|TEXTURE|BUFFER|PARAM)\b)", re.MULTILINE)
AND = "*"  # of conditions, which are 0 or 1
TESTS = "<>="
OPERATORS: dict[str, Callable[[float, float], float]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"%": operator.mod, ">": operator.gt, "<": operator.lt, "=": operator.eq},
}


@dataclass(frozen=True)
class Outline:
    """What a user shader does to a picture of a size.

    Attributes:
        hook: the stage of the player's picture that it replaces.
        size: height and width of the picture afterwards.
        passes: how many of its passes run.
        all_passes: how many it has.
        unmet: the conditions of the others that are false for this picture, for people.
    """

    hook: str
    size: tuple[int, int]
    passes: int
    all_passes: int
    unmet: tuple[str, ...] = ()

    @property
    def channels(self) -> int:
        """Channels of the pictures at its stage."""
        return STAGES[self.hook].channels

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of passes that do not run."""
        idle = self.all_passes - self.passes
        why = f"whose condition (//!WHEN) is false: {'; '.join(self.unmet)}"
        return (f"not run: {idle} of {passes_text(self.all_passes)}, {why}",) * (idle > 0)


@dataclass(frozen=True)
class _Term:
    """A term of an expression: its value, its text for people, what it binds, what it needs.

    Attributes:
        value: a number; conditions are 0 or 1.
        text: with operators between their operands.
        sizes: the sizes in it, by their names in the file.
        factors: the terms whose product it is.
    """

    value: float
    text: str
    sizes: dict[str, float]
    factors: tuple[_Term, ...] = ()

    def operand_of(self, operator: str) -> str:
        """Return the text as an operand, in parentheses unless a comparison compares a sum."""
        binds = operator not in TESTS or any(test in self.text for test in TESTS)
        return f"({self.text})" if " " in self.text and binds else self.text

    def unmet(self) -> str:
        """Return the first factor that is false, with its sizes."""
        for factor in self.factors:
            if not factor.value:
                return factor.unmet()
        sizes = ", ".join(f"{name} is {size:g}" for name, size in self.sizes.items())
        return self.text + f" ({sizes})" * bool(sizes)


def is_user_shader(path: Path) -> bool:
    """Whether a path names a user shader, and no build."""
    return path.suffix == SUFFIX


def refuse_user_shader(path: Path, *otherwise: str) -> None:
    """Refuse a user shader, also of another suffix, where a build is asked for.

    Args:
        path: a file or folder, which may be missing.
        otherwise: what to do instead, a line each.

    Raises:
        ShadergenError: SG0301 for a user shader.
    """
    if not path.is_file():  # a folder; or missing, which is refused where it is read
        return
    try:
        with path.open("rb") as file:
            start = file.read(START)
    except OSError:
        return
    if HOOK.search(start) and not BINARY.search(start):
        raise ShadergenError(
            "SG0301",
            f"'{path}' is a user shader, not a build",
            why="a user shader has no schedule",
            help="\n".join(otherwise),
        )


def read_shader(path: Path) -> str:
    """Return the text of a user shader.

    Raises:
        ShadergenError: SG0101.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not text"
        raise ShadergenError("SG0101", f"cannot read '{path}'", why=why) from None


def stage_of(text: str) -> str:
    """Return the stage of the player's picture that a user shader replaces.

    Raises:
        ShadergenError: SG0605 for a file without passes, or of an unknown hook.
    """
    blocks = _blocks(text)
    if not blocks:
        raise refusal("it has no passes")
    hook = blocks[0].get("HOOK", "nothing")
    if hook not in STAGES:
        raise refusal(f"its hook is {hook}")
    return hook


def check_single_stage(text: str) -> None:
    """Refuse a file with passes at several stages: a picture has only one, and others do not run.

    Raises:
        ShadergenError: SG0605.
    """
    stages = dict.fromkeys(block.get("HOOK", "nothing") for block in _blocks(text))
    if len(stages) > 1:
        raise refusal(
            f"its passes replace {' and '.join(stages)}; a picture has only one of these stages",
            "make a file for each stage, or run the shader on a video",
        )


def outline(text: str, size: tuple[int, int], chroma: tuple[int, int] = (2, 2)) -> Outline:
    """Work out what a user shader does to a picture of a height and a width.

    The player's output is as large as the shader wants to make the picture.

    Args:
        text: of the file.
        size: height and width of the picture.
        chroma: by what its height and width are divided for chroma, as in 4:2:0.

    Raises:
        ShadergenError: SG0605 for a file without passes, or of an unknown hook or expression, and
            for one that does not run at this size.
    """
    # At OUTPUT, the picture has the size that the player shows.
    most = size[::-1] if stage_of(text) == "OUTPUT" else (PLENTY, PLENTY)
    wanted = _outline(text, size, chroma, most)
    if wanted.hook in ABSENT:
        raise refusal(
            f"it replaces {wanted.hook}, which exists only where the player scales the picture",
            "play it in mpv, with --scale=spline36",
        )
    height, width = wanted.size
    found = _outline(text, size, chroma, (float(width), float(height)))
    if not found.passes:
        raise ShadergenError(
            "SG0605",
            f"the user shader does not run for a picture of {size[0]}x{size[1]}",
            why=f"its condition (//!WHEN) is false: {'; '.join(found.unmet)}",
            help="give a picture or video that meets the condition",
        )
    return Outline(found.hook, wanted.size, found.passes, found.all_passes, found.unmet)


def _outline(
    text: str, size: tuple[int, int], chroma: tuple[int, int], output: tuple[float, float]
) -> Outline:
    """Return the outline for a width and a height of the player's output."""
    hook, blocks = stage_of(text), _blocks(text)
    passes, unmet = 0, dict[str, None]()
    picture = float(size[1]), float(size[0])
    fewer = float(-(-size[1] // chroma[1])), float(-(-size[0] // chroma[0]))
    sizes = {**dict.fromkeys(STAGES, picture), CHROMA: fewer, "OUTPUT": output}
    sizes["HOOKED"] = sizes[hook]
    for stated in blocks:
        try:
            condition = _evaluated(stated.get("WHEN", "1"), sizes)
            if not condition.value:
                unmet[condition.unmet()] = None
                continue
            width = _evaluated(stated.get("WIDTH", "HOOKED.w"), sizes).value
            height = _evaluated(stated.get("HEIGHT", "HOOKED.h"), sizes).value
        except (KeyError, IndexError, ValueError, ZeroDivisionError):
            raise refusal("its sizes and conditions cannot be computed") from None
        passes += 1
        sizes[stated.get("SAVE", "HOOKED")] = width, height
    if not all(1 <= side < PLENTY for side in sizes["HOOKED"]):  # false for NaN, too
        raise refusal("its result has no size that a picture can have")
    across, down = map(round, picture if hook == CHROMA else sizes["HOOKED"])
    return Outline(hook, (down, across), passes, len(blocks), tuple(unmet))


def _blocks(text: str) -> list[dict[str, str]]:
    """Return what each pass states in its header, by the names of the lines."""
    return [dict(LINE.findall(part)) for part in sections(text) if part.startswith("//!HOOK")]


def sections(text: str) -> list[str]:
    """Return the texts of a file's passes, textures, buffers and parameters, in their order."""
    return SECTION.split(text)[1:]


def refusal(why: str, help: str = "") -> ShadergenError:
    """Return the error of a file that is no user shader, or none that can be run."""
    what = "the file is not a user shader that can be run"
    return ShadergenError("SG0605", what, why=why, help=help)


def _evaluated(expression: str, sizes: Mapping[str, tuple[float, float]]) -> _Term:
    """Return the value of an expression in the format's postfix notation.

    Raises:
        KeyError, IndexError, ValueError, ZeroDivisionError: for one without a value.
    """
    stack: list[_Term] = []
    for term in expression.split():
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            value = float(OPERATORS[term](left.value, right.value))
            factors = (left, right) if term == AND else ()
            sides = [side.operand_of(term) for side in (left, right)]
            text = f"{sides[0]} {term} {sides[1]}"
            stack.append(_Term(value, text, left.sizes | right.sizes, factors))
        elif term == "!":
            of = stack.pop()
            stack.append(_Term(float(not of.value), f"not {of.operand_of(term)}", of.sizes))
        elif "." in term and not term[0].isdigit():
            name, _, side = term.partition(".")
            value = sizes[name][side.startswith("h")]
            stack.append(_Term(value, term, {term: value}))
        else:
            stack.append(_Term(float(term), term, {}))
    (result,) = stack
    return result
