"""Validation of shaders by compilers that others wrote.

GLSL goes to glslang, the reference compiler of its specifications. WGSL goes to naga, through the
package wgpu, which needs an adapter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InternalError, unwritable_for_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WGSL = ".wgsl"
F16 = "shader-f16"
GLSLANG, NAGA, NAGA_F16 = "glslang", "naga", f"naga with {F16}"
UNCHECKED = {  # what is not checked without a compiler, and how to get it
    GLSLANG: "GLSL was not checked here: install glslang (Debian: glslang-tools) to check it",
    NAGA: "WGSL was not checked here: pip install wgpu to check it (on a GPU or a software driver "
    "of Vulkan)",
    NAGA_F16: f"WGSL with {F16} was not checked here: it needs wgpu and an adapter with {F16}",
}
EXECUTABLES = ("glslangValidator", "glslang")
ERROR = re.compile(r"^(?:ERROR|WARNING): (?P<file>.*):(?P<line>\d+): (?P<text>.*)$")


def compiler_of(path: str, source: str) -> str:
    """Return the name of the compiler that validates a shader."""
    if not path.endswith(WGSL):
        return GLSLANG
    return NAGA_F16 if "enable f16;" in source else NAGA


def find_glslang() -> str | None:
    """Return the path of glslang, or None when it is not installed."""
    return next((path for name in EXECUTABLES if (path := shutil.which(name))), None)


def validate(shaders: Mapping[str, str], layers: Mapping[str, str]) -> dict[str, bool]:
    """Compile every shader of a build.

    Args:
        shaders: path in the build's folder -> source.
        layers: path in the build's folder -> names of the model's layers, for messages.

    Returns:
        Whether each compiler that the shaders need was there, by its name.

    Raises:
        InternalError: when a compiler refuses a shader: naming it, the line and the layer.
    """
    found: dict[str, bool] = {}
    compilers: dict[str, Callable[[Mapping[str, str], Mapping[str, str]], bool]] = {
        GLSLANG: _with_glslang,
        NAGA: partial(_with_naga, features=()),
        NAGA_F16: partial(_with_naga, features=(F16,)),
    }
    for name, run in compilers.items():
        own = {path: text for path, text in shaders.items() if compiler_of(path, text) == name}
        if own:
            found[name] = run(own, layers)
    return found


class Validation:
    """Validates shaders in a background thread while the rest of the build is made."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._begun: list[tuple[str, Future[dict[str, bool]]]] = []
        self._known: set[str] = set()

    def __enter__(self) -> Validation:
        return self

    def __exit__(self, *raised: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def begin(self, device: str, shaders: Mapping[str, str], layers: Mapping[str, str]) -> None:
        """Start :func:`validate` for all shaders whose text was not given before.

        Args:
            device: the name of the profile that the shaders are for, for messages.
            shaders: as for :func:`validate`.
            layers: as for :func:`validate`.
        """
        new = {path: text for path, text in shaders.items() if text not in self._known}
        self._known.update(new.values())
        self._begun.append((device, self._thread.submit(validate, new, layers)))

    def result(self) -> dict[str, bool]:
        """Wait for all started validations; return their results, or raise their first error."""
        found: dict[str, bool] = {}
        for device, validated in self._begun:
            try:
                found |= validated.result()
            except InternalError as error:
                raise InternalError(f"--device {device}: {error}") from None
        return found


def _with_naga(
    shaders: Mapping[str, str], layers: Mapping[str, str], features: tuple[str, ...]
) -> bool:
    try:
        wgpu = import_module("wgpu")
        adapter = wgpu.gpu.request_adapter_sync()
        device = adapter.request_device_sync(required_features=[*features])
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
    try:
        with tempfile.TemporaryDirectory(prefix="shadergen-") as folder:
            for path, text in shaders.items():
                file = Path(folder, path)
                file.parent.mkdir(exist_ok=True)
                file.write_text(text, encoding="utf-8")
            command = [glslang, *sorted(shaders)]
            try:
                run = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, check=False
                )
            except OSError:  # there is a file of its name, which does not run
                return False
    except OSError as error:
        raise unwritable_for_now("the shaders for glslang", error) from None
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
