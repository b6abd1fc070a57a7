"""Validation of shaders by compilers that others wrote.

GLSL goes to glslang, the reference compiler of its specifications. WGSL goes to naga, through the
package wgpu, which needs an adapter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WGSL = ".wgsl"
F16 = "shader-f16"
GLSLANG = "glslang", "Debian: glslang-tools"
NAGA = "naga", "pip install wgpu, and an adapter"
EXECUTABLES = ("glslangValidator", "glslang")
ERROR = re.compile(r"^(?:ERROR|WARNING): (?P<file>.*):(?P<line>\d+): (?P<text>.*)$")


def compilers(shaders: Iterable[str]) -> tuple[str, str]:
    """Return which compilers validate shaders of these paths, and what they come with."""
    wgsl = [path.endswith(WGSL) for path in shaders]
    needed = [GLSLANG] * (not all(wgsl)) + [NAGA] * any(wgsl)
    names, sources = zip(*needed, strict=True)
    return " and ".join(names), ", ".join(sources)


def find_glslang() -> str | None:
    """Return the path of glslang, or None when it is not installed."""
    return next((path for name in EXECUTABLES if (path := shutil.which(name))), None)


def validate(shaders: Mapping[str, str], layers: Mapping[str, str]) -> bool:
    """Compile every shader of a build.

    Args:
        shaders: path in the build's folder -> source.
        layers: path in the build's folder -> names of the model's layers, for messages.

    Returns:
        False when a compiler is not installed.

    Raises:
        InternalError: when a compiler refuses a shader: naming it, the line and the layer.
    """
    wgsl = {path: text for path, text in shaders.items() if path.endswith(WGSL)}
    glsl = {path: text for path, text in shaders.items() if path not in wgsl}
    seen = not glsl or _with_glslang(glsl, layers)
    return (not wgsl or _with_naga(wgsl, layers)) and seen


def _with_naga(shaders: Mapping[str, str], layers: Mapping[str, str]) -> bool:
    try:
        wgpu = import_module("wgpu")
        device = wgpu.gpu.request_adapter_sync().request_device_sync(
            required_features=[F16] if any("enable f16;" in s for s in shaders.values()) else []
        )
    except Exception:  # wgpu's class for a machine without adapters is private
        return False
    for path, text in shaders.items():
        try:
            device.create_shader_module(code=text)
        except wgpu.GPUError as error:
            layer = layers.get(path, "(vertex shader)")
            raise InternalError(
                f"naga refuses a generated shader\n{path}, layer {layer}: {error}"
            ) from None
    return True


def _with_glslang(shaders: Mapping[str, str], layers: Mapping[str, str]) -> bool:
    glslang = find_glslang()
    if glslang is None:
        return False
    with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
        for path, text in shaders.items():
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
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
