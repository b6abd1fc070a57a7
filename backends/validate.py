"""Validation by glslang, the reference compiler of the GLSL specifications."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from ..errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXECUTABLES = ("glslangValidator", "glslang")
ERROR = re.compile(r"^(?:ERROR|WARNING): (?P<file>.*):(?P<line>\d+): (?P<text>.*)$")


def find_glslang() -> str | None:
    """Return the path of glslang, or None when it is not installed."""
    return next((path for name in EXECUTABLES if (path := shutil.which(name))), None)


def validate(folder: Path, shaders: Mapping[str, str], layers: Mapping[str, str]) -> bool:
    """Compile every shader of a build in one process.

    Args:
        folder: where the shaders lie.
        shaders: path in the folder -> source.
        layers: path in the folder -> names of the model's layers, for messages.

    Returns:
        False when glslang is not installed.

    Raises:
        InternalError: when glslang refuses a shader: naming it, the line and the layer.
    """
    glslang = find_glslang()
    if glslang is None:
        return False
    run = subprocess.run(
        [glslang, *sorted(shaders)], cwd=folder, capture_output=True, text=True, check=False
    )
    if run.returncode == 0:
        return True
    current = ""
    problems = []
    for line in run.stdout.splitlines():
        if line.strip() in shaders:
            current = line.strip()
        found = ERROR.match(line)
        if found is None:
            continue
        source = shaders.get(current, "").splitlines()
        number = int(found["line"])
        text = source[number - 1].strip() if 0 < number <= len(source) else ""
        problems.append(
            f"{current}:{number}: {found['text']}\n"
            f"    layer {layers.get(current, '(vertex shader)')}\n    {text}"
        )
    raise InternalError(
        "glslang refuses a generated shader\n" + "\n".join(problems or [run.stdout or run.stderr])
    )
