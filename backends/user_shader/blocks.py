"""The blocks of a user shader: one for each GPU pass, and one before them that copies the picture.

The picture that a player hands over may be cropped, rotated or padded, and be scaled from integers.
The copy has none of this: its texels are the picture's, from the first on. All other passes
fetch texels of textures by number, and their borders are the picture's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir.types import LANES
from ..dialects.user_shader import Bindings, print_copy, print_pass
from ..shader.namer import Namer
from .expressible import check_binds
from .hooks import STAGES
from .sizes import SYMBOLS, Tree, checked, glsl, is_fixed, postfix, sides_of, tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..gpu import GpuPass

PICTURE, HOOKED = "picture", "HOOKED"
SCALES = range(2, 9)  # of upscalers, for shorter code
OPAQUE = 3  # channels of a picture that may have a fourth, which passes through
# Names of the player's textures that no layer may take.
TAKEN = (*STAGES, HOOKED, PICTURE, "ALPHA", "XYZ", "NATIVE_CROPPED", "CHROMA_SCALED")


@dataclass(frozen=True)
class Block:
    """One pass of the file.

    Attributes:
        description: what it is, for the player's statistics.
        binds: names of the textures that it reads.
        save: the name of what it writes; empty for the last, which replaces the picture.
        size: width and height as the player computes them; None for those of the picture.
        comments: what the code is, for people.
        functions: constants and functions.
        body: the lines of ``hook()``.
    """

    description: str
    binds: Sequence[str]
    save: str
    size: tuple[str, str] | None
    comments: Sequence[str]
    functions: Sequence[str]
    body: Sequence[str]


def blocks_of(schedule: Mapping[str, Any], passes: Sequence[GpuPass]) -> list[Block]:
    """Return the blocks of a schedule that has passed the checks.

    Raises:
        ShadergenError: SG0405 for too many textures, or sizes that players cannot compute.
    """
    return [_copy(), *_Blocks(schedule).of(passes)]


def _copy() -> Block:
    functions, body = print_copy(HOOKED)
    return Block("the picture, a texel for a pixel", [HOOKED], PICTURE, None, [], functions, body)


class _Blocks:
    def __init__(self, schedule: Mapping[str, Any]) -> None:
        self.schedule = schedule
        self.textures = {t["name"]: t for t in schedule["textures"]}
        self.output = schedule["outputs"][0]["texture"]
        namer = Namer()
        namer.taken.update(TAKEN)
        self.names: dict[tuple[str, int], str] = {(schedule["inputs"][0]["texture"], 0): PICTURE}
        for t in schedule["textures"]:
            stem = namer(t["name"]) if t["layers"] > 1 else ""
            for layer in range(t["layers"]):
                wish = f"{stem}_c{LANES * layer}" if stem else t["name"]
                if (t["name"], layer) not in self.names:
                    self.names[t["name"], layer] = namer(wish)
        self.sizes: dict[Tree, str] = {s: f"{PICTURE}.{s[0]}" for s in SYMBOLS}  # for the player

    def of(self, passes: Sequence[GpuPass]) -> list[Block]:
        return [
            self._block(entry, gpu_pass)
            for entry, gpu_pass in zip(self.schedule["passes"], passes, strict=True)
        ]

    def _block(self, entry: Mapping[str, Any], gpu_pass: GpuPass) -> Block:
        (written,) = entry["writes"]
        result = self.textures[written["texture"]]
        is_last = result["name"] == self.output
        width, height = (tree(result[side]) for side in SYMBOLS)
        reads = {r["uniform"]: (r["texture"], r.get("layer", 0)) for r in entry["reads"]}
        bound: dict[Tree, str] = {}  # sizes, as GLSL
        binds: dict[str, tuple[Tree, Tree]] = {}
        for texture, layer in reads.values():
            own = tree(self.textures[texture]["width"]), tree(self.textures[texture]["height"])
            binds.setdefault(self.names[texture, layer], own)
        for name, (across, down) in reversed(binds.items()):
            bound |= sides_of(name, across, down)
        settings = {u["name"]: tree(u["value"][0]) for u in entry["uniforms"]}
        wanted = [*settings.values(), width, height]
        if any(_needs(size, bound) for size in wanted) or not binds:
            own = SYMBOLS[0], SYMBOLS[1]
            binds[PICTURE] = own
            bound = sides_of(PICTURE, *own) | bound
        alpha = ""
        if is_last and result["channels"] == OPAQUE:
            binds[HOOKED] = (width, height)
            alpha = f"{HOOKED}_tex({HOOKED}_pos).a"
        check_binds(gpu_pass.node.name, len(binds))
        bindings = Bindings(
            {sampler: self.names[read] for sampler, read in reads.items()},
            {name: glsl(size, bound) for name, size in settings.items()},
            self._pixel(binds, width, height, bound),
            alpha,
        )
        functions, body = print_pass(gpu_pass.program, bindings)
        comments = [gpu_pass.program.header[0]]
        if multiplies := entry["work"]["multiplies"]:
            comments.append(f"{multiplies} multiply-adds a pixel")
        return Block(
            f"{gpu_pass.node.name}{_channels(result, written['layer'])}",
            list(binds),
            "" if is_last else self.names[result["name"], written["layer"]],
            (self._side(gpu_pass, "width", width), self._side(gpu_pass, "height", height)),
            comments,
            functions,
            body,
        )

    def _side(self, gpu_pass: GpuPass, which: str, size: Tree) -> str:
        return checked(postfix(size, self.sizes), f"the {which} of '{gpu_pass.node.name}'")

    def _pixel(
        self,
        binds: Mapping[str, tuple[Tree, Tree]],
        width: Tree,
        height: Tree,
        bound: Mapping[Tree, str],
    ) -> str:
        """Return the pixel at hand: positions are 0 to 1 in all textures alike."""
        for name, own in binds.items():
            if own == (width, height) and name != HOOKED:
                return f"ivec2({name}_pos * {name}_size)"
        first, (across, down) = next(iter(binds.items()))
        for scale in SCALES:
            if (width, height) == (("*", across, scale), ("*", down, scale)):
                return f"ivec2({first}_pos * {first}_size * {scale}.0)"
        return f"ivec2({first}_pos * vec2({glsl(width, bound)[0]}, {glsl(height, bound)[0]}))"


def _needs(size: Tree, bound: Mapping[Tree, str]) -> bool:
    """Whether a size cannot be computed of what is bound."""
    if size in bound or is_fixed(size):
        return False
    return not isinstance(size, tuple) or any(_needs(part, bound) for part in size[1:])


def _channels(texture: Mapping[str, Any], layer: int) -> str:
    """Return which channels a pass computes, unless it is all."""
    if texture["layers"] == 1:
        return ""
    first = LANES * layer
    last = min(first + LANES, texture["channels"]) - 1
    return f", channels {first} to {last} of {texture['channels']}"
