"""A strict parser of user shaders: what both mpv and libplacebo take, and nothing else.

From mpv's manual ("Shader hooks") and the parsers of mpv 0.35 and libplacebo 4.208.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

STAGES = {
    *("RGB", "LUMA", "CHROMA", "NATIVE", "MAINPRESUB", "MAIN", "LINEAR", "SIGMOID"),
    *("PREKERNEL", "POSTKERNEL", "SCALED", "OUTPUT"),
}
MOST_BINDS, MOST_TERMS = 15, 32  # 16 textures are one vertex attribute too many for OpenGL
NAME = re.compile(r"(?!gl_)(?!.*__)[A-Za-z][A-Za-z0-9_]*")
MACROS = re.compile(r"\b(\w+?)_(raw|pos|size|pt|tex|texOff|rot|off|map|mul|gather)\b")
SINGLE = ("SAVE", "WIDTH", "HEIGHT", "OFFSET", "COMPONENTS", "COMPUTE", "WHEN", "DESC")
PARAMETER = re.compile(
    r"\n//!PARAM strength\n//!DESC .+\n//!TYPE float\n"
    r"//!MINIMUM 0\.0\n//!MAXIMUM 1\.0\n(0\.\d+|1\.0)\n"
)
OPERATORS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    ">": np.greater,
    "<": np.less,
    "=": np.equal,
}


@dataclass
class Pass:
    """A block; expressions are lists of terms."""

    hook: str = ""
    binds: list[str] = field(default_factory=list)
    single: dict[str, str] = field(default_factory=dict)
    body: str = ""

    def terms(self, key: str) -> list[str]:
        return self.single[key].split(" ") if key in self.single else []


def parse(text: str) -> list[Pass]:
    """Return the passes of a file, or fail with what is wrong with it.

    A parameter comes last: mpv's vo=gpu stops reading there.
    """
    text, *parameter = re.split(r"^(?=\n//!PARAM)", text, flags=re.MULTILINE)
    assert all(map(PARAMETER.fullmatch, parameter))
    assert text[text.index("//!") :].isascii()  # what players compile
    text, *tables = re.split(r"^(?=//!TEXTURE )", text, flags=re.MULTILINE)
    assert text.rstrip("\n").endswith("}")
    named = [_table(block).name for block in tables]
    first, *blocks = re.split(r"^(?=//!HOOK )", text, flags=re.MULTILINE)
    assert all(re.fullmatch(r"(// .*)?", line) for line in first.splitlines())
    saved: list[str] = []
    passes = []
    for block in blocks:
        one = _block(block)
        given = {"HOOKED", "LUMA"} if one.hook == "CHROMA" else {"HOOKED"}
        for name in one.binds:
            is_there = name in given or name in saved or name in named
            assert is_there, f"{name} is bound before it is saved"
            assert name not in named or re.search(rf"\({name}, ", one.body), f"{name} is not read"
        known = {*given, "OUTPUT", *saved}
        for key in ("WIDTH", "HEIGHT", "WHEN"):
            if key in one.single:
                check_terms(one.terms(key), known)
        used = {m[1] for m in MACROS.finditer(one.body)} & (
            known | {"MAIN", "LUMA", "picture", "luma"}
        )
        assert used <= set(one.binds), f"{used - set(one.binds)} is used and not bound"
        saved += [one.single["SAVE"]] if "SAVE" in one.single else []
        passes.append(one)
    assert len({*saved, *named}) == len(saved) + len(named), "a texture is there twice"
    assert len({one.single["DESC"] for one in passes}) == len(passes), "two passes have one name"
    assert "SAVE" not in passes[-1].single, "nothing replaces the picture"
    bound = {name for one in passes for name in one.binds}
    unread = {*saved, *named} - bound
    assert not unread, f"nothing reads {unread}"
    assert len({(one.hook, one.single.get("WHEN")) for one in passes}) == 1
    return passes


@dataclass(frozen=True)
class Table:
    """A texture of constants, and its texels: height x width x 4."""

    name: str
    texels: np.ndarray


def tables_of(text: str) -> list[Table]:
    """Return the textures of constants of a file."""
    return [_table(block) for block in re.split(r"^(?=//!TEXTURE )", text, flags=re.M)[1:]]


def _table(block: str) -> Table:
    found = re.fullmatch(
        r"//!TEXTURE (\w+)\n//!SIZE (\d+) (\d+)\n//!FORMAT rgba32f\n//!FILTER NEAREST\n"
        r"([0-9a-f]+)\n+",
        block,
    )
    assert found, block[:200]
    name, width, height, data = found.groups()
    assert NAME.fullmatch(name), name
    texels = np.frombuffer(bytes.fromhex(data), "<f4")
    return Table(name, texels.reshape(int(height), int(width), 4))


def _block(block: str) -> Pass:
    one, lines = Pass(), block.splitlines()
    while lines and lines[0].startswith("//!"):
        line = lines.pop(0)
        found = re.fullmatch(r"//!([A-Z]+) (\S.*\S|\S)", line)
        assert found, line
        key, value = found.groups()
        if key == "HOOK":
            assert not one.hook
            assert value in STAGES, value
            one.hook = value
        elif key == "BIND":
            assert NAME.fullmatch(value), value
            one.binds.append(value)
        else:
            assert key in SINGLE, line
            assert key not in one.single, f"{key} twice"
            one.single[key] = value
    one.body = "\n".join(lines)
    assert one.hook
    assert one.binds
    assert len(one.binds) <= MOST_BINDS
    assert len(set(one.binds)) == len(one.binds)
    assert "//!" not in one.body
    assert "#version" not in one.body
    returns = "void" if "COMPUTE" in one.single else "vec4"
    assert one.body.count(f"{returns} hook()") == 1
    assert ("out_image" in one.body) == ("COMPUTE" in one.single)
    assert re.fullmatch(r"\d+ \d+ \d+ \d+", one.single.get("COMPUTE", "8 8 8 8"))
    assert "DESC" in one.single
    assert one.single.get("COMPONENTS", "4") in "1234"
    assert one.single.get("OFFSET", "ALIGN") == "ALIGN"
    assert not {"OFFSET", "SAVE"} <= {*one.single}, "only what replaces the picture is aligned"
    if "SAVE" in one.single:
        assert NAME.fullmatch(one.single["SAVE"])
        assert one.single["SAVE"] not in STAGES | {"HOOKED"}
    return one


def check_terms(terms: list[str], known: set[str]) -> None:
    """Fail unless terms are an expression of sizes of known textures."""
    assert len(terms) <= MOST_TERMS, f"{len(terms)} terms"
    depth = 0
    for term in terms:
        if term in OPERATORS:
            depth -= 1
        else:
            name, _, side = term.partition(".")
            number = re.fullmatch(r"\d+(\.\d+)?", term)
            assert number or (name in known and side in ("w", "h", "width", "height")), term
            depth += 1
        assert depth > 0, f"{terms} takes from an empty stack"
    assert depth == 1, f"{terms} leaves {depth} values"


def value(terms: list[str], sizes: Mapping[str, tuple[float, float]]) -> float:
    """Return the value of an expression as players compute it, by (width, height) of textures."""
    stack: list[np.float32] = []
    for term in terms:
        if term in OPERATORS:
            right, left = stack.pop(), stack.pop()
            stack.append(np.float32(OPERATORS[term](left, right)))
        elif re.fullmatch(r"[\d.]+", term):
            stack.append(np.float32(term))
        else:
            name, _, side = term.partition(".")
            stack.append(np.float32(sizes[name][side.startswith("h")]))
    (result,) = stack
    return float(result)
