"""The shaders of a build, as its schedule uses them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

from shadergen.backends.validate import WGSL

from .shaders import Shader

IMAGE = re.compile(r"layout\((\w+), binding = \d+\)[^;]*\bimage\w+ (\w+);")


@dataclass(frozen=True)
class Pass:
    """One GPU pass: a shader, how often it runs, and whether it is a step of Winograd's tiles."""

    name: str
    shader: Shader
    invocations: int
    tiles: bool = False

    @property
    def multiply_adds(self) -> float:
        """Of the whole pass."""
        return self.shader.multiply_adds * self.invocations


def read_passes(build: Path) -> list[Pass]:
    """Return the GPU passes of a build in order."""
    schedule = json.loads((build / "schedule.json").read_text("utf-8"))
    formats = {texture["name"]: texture["format"] for texture in schedule["textures"]}
    return [_pass(build, formats, entry) for entry in schedule["passes"]]


def _pass(build: Path, formats: dict[str, str], entry: dict[str, Any]) -> Pass:
    source = (build / entry["shader"]).read_text("utf-8")
    fragment = entry["stage"] == "fragment"
    sides = entry["viewport"] if fragment else (*entry["workgroup"], *entry["groups"])
    invocations = prod(sides)
    images = {name: format for format, name in IMAGE.findall(source)}
    textures = {r["uniform"]: formats[r["texture"]] for r in entry["reads"]}
    uniforms = {u["name"]: u["value"][0] for u in entry["uniforms"] if _known(u)}
    shader = Shader(
        entry["stage"],
        source,
        (build / entry["vertex"]).read_text("utf-8") if fragment else "",
        tuple(formats[w["texture"]] for w in entry["writes"]) if fragment else (),
        tuple(sorted({**textures, **images}.items())),
        tuple(sorted(uniforms.items())),
        (entry.get("macs") or 0) / invocations,
        version("wgpu") if entry["shader"].endswith(WGSL) else "",
    )
    return Pass(entry["name"], shader, invocations, entry["kernel"].startswith("winograd"))


def _known(uniform: dict[str, Any]) -> bool:
    return uniform["type"] == "int" and isinstance(uniform["value"], list)
