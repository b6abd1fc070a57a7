"""The text of a user shader."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ...errors import ShadergenError
from ...records import dataclass
from ..dialects.user_shader import note
from ..sizes import LARGEST, OPERATORS
from .blocks import Block, Strength, Table, blocks_of
from .expressible import check_passes, check_ports
from .hooks import LUMA_SCALE, STAGES, UPSCALE_FROM, chosen_hook, full_hd
from .sizes import SYMBOLS, Tree, checked, postfix, tree
from .templates import templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..build_files import BuildFiles
    from ..gpu import GpuPass

LARGEST_SIDE = 8192  # of a picture: bounds that only larger ones exceed are not tested
EVEN = 2**8 * 3**2 * 5 * 7  # which most strides divide
# What sides may have to be multiples of.
STEPS = [n for n in range(1, 2**8 + 1) if EVEN % n == 0]
# Of files with tables: mpv 0.35 knows no rgba32f there, and skips passes that read one.
NEEDS_FLOAT_TEXTURES = "needs 32-bit float textures, which mpv does not have on OpenGL ES"
USE = "use: mpv --glsl-shaders=FILE video.mkv"
WIDEST = 96  # characters of a comment


@dataclass(frozen=True)
class UserShader:
    """A user shader in memory.

    Attributes:
        text: of the file.
        hook: the stage of the player's picture that it replaces.
        condition: when the player runs it, in its postfix notation; empty for always.
        blocks: its passes, in their order.
        tables: textures of constants that the passes read.
        notes: when the player runs it, for people.
    """

    text: str
    hook: str
    condition: str
    blocks: tuple[Block, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def user_shader(
    files: BuildFiles,
    hook: str | None = None,
    upscale_from: float = UPSCALE_FROM,
    license: str = "",
    title: str = "",
    origin: Sequence[str] = (),
    strength: float = 1.0,
    live_strength: bool = False,
    luma: str | None = None,
    split: bool = False,
) -> UserShader:
    """Write a build as a user shader.

    Args:
        files: of a build with dynamic sizes, of draws.
        hook: the stage of the player's picture, by default that of the network's channels.
        upscale_from: how many times larger than the picture the output must be for an upscaler to
            run.
        license: of the network, for the file's header.
        title: of the file and its passes, by default the model's own name.
        origin: lines for the header that say where the network comes from.
        strength: share of the result in what the player shows, 0 to 1; the rest is the picture.
        live_strength: let players that can change the strength while playing.
        luma: the name of an input of luma beside one of chroma, if there is one.
        split: store each value between passes as two 16-bit floats.

    Raises:
        ShadergenError: SG0405 for what the format cannot express, SG0301 for a wrong hook or
            strength, for a condition on upscaling where the network does not upscale, or for a
            strength where it changes the size.
    """
    schedule = files.schedule
    ports = check_ports(schedule, luma)
    channels = ports.channels
    check_passes(schedule, files.passes)
    hook = chosen_hook(channels, hook)
    textures = {t["name"]: t for t in schedule["textures"]}
    result = textures[ports.result]
    size = {side: tree(result[side]) for side in SYMBOLS}
    defaults = {p["name"]: p["default"] for p in schedule["sizes"]["parameters"]}
    scales = _scales(size, defaults, schedule["outputs"][0]["name"])
    if not STAGES[hook].resizable and any(size[side] != side for side in SYMBOLS):
        same = all(scales[side] == 1 for side in SYMBOLS)
        changed = "size of pictures with odd sides" if same else "size of pictures"
        raise ShadergenError(
            "SG0301",
            f"--hook {hook} is not supported",
            why=f"at {hook}, a network cannot change the size, but this one changes the {changed}",
            supported=", ".join(
                name for name, s in STAGES.items() if s.resizable and s.channels == channels
            ),
        )
    larger = [side for side in SYMBOLS if scales[side] > 1]
    if ports.luma and any(scale not in (1, LUMA_SCALE) for scale in scales.values()):
        raise ShadergenError(
            "SG0405",
            f"output '{schedule['outputs'][0]['name']}' has neither the size of chroma nor of luma",
            help="end the network at one of these sizes with --outputs NAME",
        )
    if ports.luma and upscale_from != UPSCALE_FROM:
        raise ShadergenError(
            "SG0301",
            f"--upscale-from {upscale_from:g} has no effect",
            why="a network that reads luma and chroma runs at every size of the window",
            help="omit --upscale-from",
        )
    if not larger and upscale_from != UPSCALE_FROM:
        raise ShadergenError(
            "SG0301",
            f"--upscale-from {upscale_from:g} has no effect",
            why="the network does not enlarge the picture",
            help="omit --upscale-from: the player always runs this network",
        )
    if not 0 <= strength <= 1:
        raise ShadergenError(
            "SG0301", f"--strength {strength:g} is not supported", supported="0 to 1"
        )
    share = Strength(strength, live_strength)
    # The result of a network that halves and doubles has the picture's size where it runs.
    if share.mixes and any(scales[side] != 1 for side in SYMBOLS):
        option = "--live-strength" if live_strength else f"--strength {strength:g}"
        raise ShadergenError(
            "SG0301",
            f"{option} is not supported",
            why="the result has another size than the picture, so the two cannot be mixed",
            help="do the mixing inside the network: there, add a share of the enlarged picture",
        )
    tests = [] if ports.luma else _larger(larger, upscale_from)
    reasons = []
    if ports.luma:
        tests = [[f"LUMA.{s[0]}", f"HOOKED.{s[0]}", str(LUMA_SCALE), "*", "="] for s in SYMBOLS]
        reasons = [f"luma must be {LUMA_SCALE} times as high and wide as chroma"]
    condition, more = _condition(schedule["sizes"], size, scales, tests)
    reasons += more
    blocks, tables = blocks_of(files, ports, share, split)
    title = note(title or schedule["model"])
    header = [
        f"{title}: {_effect(hook, scales)} in {len(blocks)} passes, "
        f"{_work(schedule, files.passes, blocks, full_hd(channels)):.0f} multiply-adds per pixel",
        USE,
        note(f"generated by {schedule['generator']}"),
        *([NEEDS_FLOAT_TEXTURES] if tables else []),
        *map(_printable, origin),
        *(map(_printable, f"license: {license}".splitlines()) if license.strip() else []),
    ]
    text = templates().get_template("user_shader.glsl.j2").render(
        header=header,
        hook=hook,
        condition=condition,
        title=title,
        blocks=[_printed(block) for block in blocks],
        tables=tables,
        parameter=share if live_strength else None,
        aligned=bool(ports.luma and larger),
    )  # fmt: skip
    notes = [
        f"runs if the player's output is more than {upscale_from:g} times as wide and as high as "
        "the picture"
    ] * bool(larger and not ports.luma)
    notes += [NEEDS_FLOAT_TEXTURES] * bool(tables)
    notes += [f"{why}; pictures of other sizes are shown unchanged" for why in reasons]
    return UserShader(text, hook, condition, tuple(blocks), tuple(tables), tuple(notes))


def _scales(
    size: Mapping[str, Tree], defaults: Mapping[str, int], name: str
) -> dict[str, Fraction]:
    """Return how many times larger the result's sides are; refuse one that is not whole.

    Strides and the like may round sizes, but not those of pictures of ``EVEN`` pixels.
    """
    scales = {}
    for side in SYMBOLS:
        once, twice = (
            Fraction(_value(size[side], dict.fromkeys(SYMBOLS, EVEN) | {side: sides}), sides)
            for sides in (EVEN, 2 * EVEN)
        )
        if once != twice:
            given, made = (
                "x".join(str(_value(s, defaults)) for s in sizes)
                for sizes in (("height", "width"), (size["height"], size["width"]))
            )
            raise ShadergenError(
                "SG0405",
                f"output '{name}' is not the whole picture",
                why=f"a picture of {given} becomes {made}, which players would stretch",
                help="pad inside the network, so that the output is 1, 2, 3... times as large",
            )
        scales[side] = once
    return scales


def _work(
    schedule: Mapping[str, Any],
    passes: Sequence[GpuPass],
    blocks: Sequence[Block],
    picture: tuple[int, int],
) -> float:
    """Return the multiply-adds for each pixel of a picture of a height and width."""
    nodes = {block.node for block in blocks}
    height, width = picture
    sizes = {"height": height, "width": width}
    entries = zip(schedule["passes"], passes, strict=True)
    work = (_value(tree(entry["macs"]), sizes) for entry, one in entries if one.node in nodes)
    return sum(work) / (height * width)


def _printable(line: str) -> str:
    """Make a line safe before the first pass, which players do not compile: in any script."""
    return "".join(c if c.isprintable() else "?" for c in line).replace("//!", "// !")


def _printed(block: Block) -> dict[str, Any]:
    return {
        "description": note(block.description),
        "binds": [*block.binds, *block.tables],
        "save": block.save,
        "size": block.size,
        "compute": block.compute,
        "comments": [line for c in block.comments for line in wrap(note(c), WIDEST)],
        "code": block.code,
    }


def _larger(sides: Sequence[str], factor: float) -> list[list[str]]:
    """Return tests that the player's output is so many times larger than the picture."""
    return [[f"OUTPUT.{s[0]}", f"HOOKED.{s[0]}", f"{factor:g}", "*", ">"] for s in sides]


def _condition(
    sizes: Mapping[str, Any],
    result: Mapping[str, Tree],
    scales: Mapping[str, Fraction],
    tests: Sequence[list[str]],
) -> tuple[str, list[str]]:
    """Return when the player runs the shader: if tests hold, at sizes that it accepts.

    A picture whose result is rounded to another size would be stretched: such sizes are refused.
    The list says which sizes these are, for people.
    """
    names: dict[Tree, str] = {side: f"HOOKED.{side[0]}" for side in SYMBOLS}
    tests = [*tests]
    reasons = []
    steps = {side: _whole_from(result[side], scales[side]) for side in SYMBOLS}
    for constraint in sizes["constraints"]:
        match tree(constraint["value"]):
            case ("%", str(side), int(step)) if constraint["min"] == constraint["max"] == 0:
                steps[side] = lcm(steps[side], step)
    for side, step in steps.items():
        if step > 1:
            tests.append([names[side], str(step), "%", "0", "="])
            reasons.append(f"{side} must be a multiple of {step}")
    pictures = {side: (step, LARGEST_SIDE) for side, step in steps.items()}
    allowed = {
        p["name"]: (max(p["min"], steps[p["name"]]), min(p["max"], LARGEST_SIDE))
        for p in sizes["parameters"]
    }
    bounds = [
        ([p["name"]], p, pictures, f"{p['name']} must be {_range(p['min'], p['max'])}")
        for p in sizes["parameters"]
    ]
    bounds += [(c["value"], c, allowed, c["why"]) for c in sizes["constraints"]]
    for value, ends, within, why in bounds:
        size = tree(value)
        least, most = _bounds(size, within)
        low, high = max(least, ends["min"]), min(most, ends["max"])
        if (low, high) != (least, most):
            found = _tests(postfix(size, names), low, high, least, most)
            if new := [test for test in found if test not in tests]:
                tests += new
                reasons.append(why)
    joined = [term for k, test in enumerate(tests) for term in (*test, *["*"] * (k > 0))]
    return checked(joined, "the condition on sizes"), reasons


def _whole_from(size: Tree, scale: Fraction) -> int:
    """Return of what a side of the picture must be a multiple for a result that is not rounded."""

    def is_whole(side: int) -> bool:
        return _value(size, dict.fromkeys(SYMBOLS, side)) == side * scale

    several = range(EVEN, EVEN + 4 * STEPS[-1])
    return next((n for n in STEPS if all(map(is_whole, several[::n]))), EVEN)


def _effect(hook: str, scales: Mapping[str, Fraction]) -> str:
    """Return what the network does to the player's picture: "upscales LUMA 2x"."""
    if all(scale <= 1 for scale in scales.values()):
        return f"filters {hook}"
    times = dict.fromkeys(f"{float(scales[side]):g}" for side in ("height", "width"))
    return f"upscales {hook} {'x'.join(times)}" + "x" * (len(times) == 1)


def _range(low: int, high: int) -> str:
    return f"{low} to {high}" if high < LARGEST_SIDE else f"at least {low}"


def _bounds(size: Tree, within: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return between which numbers a size lies, for symbols within theirs."""
    if not isinstance(size, tuple):
        return within[size] if isinstance(size, str) else (size, size)
    sign, *operands = size
    left, right = (_bounds(operand, within) for operand in operands)
    if sign in ("/", "%") and right[0] <= 0:
        return -LARGEST, LARGEST
    if sign == "%":
        return 0, right[1] - 1
    ends = [OPERATORS[sign](a, b) for a in left for b in right]
    return min(ends), max(ends)


def _tests(value: Sequence[str], low: int, high: int, least: int, most: int) -> list[list[str]]:
    """Return tests that a value from ``least`` to ``most`` is from ``low`` to ``high``."""
    if low == high:
        return [[*value, *_number(low), "="]]
    tests = [[*value, *_number(low - 1), ">"]] if low > least else []
    return [*tests, [*value, *_number(high + 1), "<"]] if high < most else tests


def _number(value: int) -> list[str]:
    """Return an integer; players read no signs."""
    return [str(value)] if value >= 0 else ["0", str(-value), "-"]


def _value(size: Tree, values: Mapping[str, int]) -> int:
    """Return the value of a size."""
    if isinstance(size, tuple):
        sign, left, right = size
        a, b = _value(left, values), _value(right, values)
        return int(OPERATORS[sign](a, b))
    return values[size] if isinstance(size, str) else size
