"""The builds of the package ``schedules``, written for this session, changed and loaded."""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from schedules.builds import write_all

from shadergen.backends.devices.families import FAMILIES
from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import DeviceInfo, load
from shadergen.runtime_glue.python.device import LIMITS

written = tempfile.TemporaryDirectory(prefix="shadergen_schedules_")
atexit.register(written.cleanup)
FIXTURES = Path(written.name)
write_all(FIXTURES)
GOOD = FIXTURES / "good"
DYNAMIC = FIXTURES / "good_dynamic"
EXTERNAL = FIXTURES / "good_external"
VARIANTS = FIXTURES / "good_variants"
EXTENSIONS = frozenset({"GL_EXT_color_buffer_float"})
EXPECTED: dict[str, str] = json.loads((FIXTURES / "malformed" / "expected.json").read_text())


def change(folder: Path, *path: str | int, to: Any) -> None:
    schedule = json.loads((folder / "schedule.json").read_text())
    target = schedule
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to
    (folder / "schedule.json").write_text(json.dumps(schedule))


def bounded(folder: Path) -> Path:
    """Copy the build of dynamic sizes, its height being from 3 on for the sake of a layer."""
    shutil.copytree(DYNAMIC, folder)
    own = {"value": ["height"], "min": 3, "max": 2**53 - 1, "why": "at least 3, for layer pool"}
    constraints = json.loads((DYNAMIC / "schedule.json").read_text())["sizes"]["constraints"]
    change(folder, "sizes", "constraints", to=[*constraints, own])
    change(folder, "sizes", "parameters", 0, "min", to=3)
    return folder


def refused(folder: Path) -> ShadergenError:
    with pytest.raises(ShadergenError) as caught:
        load(folder)
    return caught.value


def device(renderer: str, limit: int = 100, es: tuple[int, int] = (3, 0)) -> DeviceInfo:
    """Return an OpenGL ES of a renderer; the limits that its version knows are one number."""
    limits = {name: limit if es >= since else 0 for name, (_, since) in LIMITS.items()}
    return DeviceInfo("nobody", renderer, f"OpenGL ES {es[0]}.{es[1]}", "", es, EXTENSIONS, limits)


def all_families(folder: Path) -> Path:
    """Write a build whose variants are for the families of GPUs, all of one schedule."""
    shutil.copytree(VARIANTS, folder)
    entries = [
        {
            "name": name,
            "schedule": "variants/mali.json",
            "renderers": list(family.renderers),
            "others": list(family.others),
        }
        for name, family in FAMILIES.items()
    ]
    change(folder, "variants", to=entries)
    return folder


def refusal(
    folder: Path, sizes: dict[str, int] | None = None, renderer: str | None = None
) -> ShadergenError | None:
    """Return why Python does not load a build, for a renderer where one is given, or None."""
    try:
        load(folder, sizes, None if renderer is None else device(renderer))
    except ShadergenError as error:
        return error
    return None


def picked(folder: Path) -> tuple[str | None, str | None]:
    """Return the code of Python's refusal, or the variant that it picks for a Mali."""
    try:
        return None, load(folder, device=device("Mali-G78")).variant
    except ShadergenError as error:
        return error.code, None


# fuzzing


SCHEDULES = [
    json.loads((folder / "schedule.json").read_text())
    for folder in (GOOD, DYNAMIC, EXTERNAL, VARIANTS)
]
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 0, 1, 2, 2**31, 2**40, 2**63, 10**400])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["x", "y", "2d", "array", "r8", "../x", "/", "a\x00b", "\ud800", "." * 2000])
    | st.sampled_from(
        ["height", "width", "%", "max", ["height"], ["width", 0, "%"], ["width", "*"]]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def places(part: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    found = []
    for key, value in inner if isinstance(part, dict | list) else ():
        found.append((*path, key))
        if isinstance(value, dict | list):
            found += places(value, (*path, key))
    return found


PLACES = [places(schedule) for schedule in SCHEDULES]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    which = draw(st.integers(0, len(SCHEDULES) - 1))
    schedule = copy.deepcopy(SCHEDULES[which])
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(PLACES[which]))
        target = schedule
        try:
            for key in path[:-1]:
                target = target[key]
            kind = draw(st.sampled_from(["set", "swap", "delete", "repeat"]))
            if kind == "set":
                target[path[-1]] = draw(JSON_VALUES)
            elif kind == "swap":
                other = draw(st.sampled_from([p for p in PLACES[which] if p[-1] == path[-1]]))
                value = SCHEDULES[which]
                for key in other:
                    value = value[key]
                target[path[-1]] = copy.deepcopy(value)
            elif kind == "delete":
                del target[path[-1]]
            elif isinstance(target, list):
                target.append(copy.deepcopy(target[path[-1]]))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken that place away
    return json.dumps(schedule).encode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    content = bytearray((GOOD / "schedule.json").read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content) - 1))
        content[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(content)
