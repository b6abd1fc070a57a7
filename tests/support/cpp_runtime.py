"""The programs of tests/runtimes/cpp and c, compiled once in a session, and what they are asked."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import ROOT

if TYPE_CHECKING:
    pass

RUNTIME = ROOT / "runtime_glue" / "cpp"
PROGRAMS = ROOT / "tests" / "runtimes" / "cpp"
# What a sanitizer finds ends the program. Mesa and the like leak on their way out.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


def need(*programs: str) -> None:
    """Skip where a program is not installed."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here: make test installs what C++ needs")


def run(*command: Any, **options: Any) -> str:
    """Run a program to its end and return what it wrote; show what it said when it fails."""
    environment = os.environ | SANITIZERS | options.pop("env", {})
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env=environment,
        check=False,
        timeout=1800,
        **options,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def cmake(source: Path, build: Path, *options: str) -> None:
    """Configure and compile a project."""
    need("cmake", "c++")
    generator = ("-G", "Ninja") if shutil.which("ninja") else ()
    run("cmake", "-S", source, "-B", build, *generator, *options)
    run("cmake", "--build", build, "--parallel", "2")


def compiled(
    factory: pytest.TempPathFactory, source: Path = PROGRAMS, *options: str, name: str = "programs"
) -> Path:
    """Return the folder of a project's programs, which whichever process comes first compiles."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"cpp_{name}"
    with (shared / f"cpp_{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "compiled").exists():
            cmake(source, folder, "-DCMAKE_BUILD_TYPE=None", *options)
            (folder / "compiled").touch()
    return folder


class Loader:
    """A process that loads builds, one after another."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | SANITIZERS,
        )

    def load(
        self,
        folder: Path,
        sizes: dict[str, int] | None = None,
        renderer: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]:
        """Return the parts of the error, or of the build.

        Args:
            folder: of the build.
            sizes: the dynamic ones.
            renderer: whose variant is loaded. For the program ``load``.
            source: ``"memory"`` or ``"callback"`` in place of the folder. For ``c_load``.
        """
        assert self._process.stdin
        assert self._process.stdout
        words = [str(folder), *(f"{name}={value}" for name, value in (sizes or {}).items())]
        words += [] if renderer is None else [f"renderer={renderer}"]
        words += [] if source is None else [f"from={source}"]
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it, as it should."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(timeout=10) == 0


def promises() -> list[str]:
    """Return the names of what the files of tests/runtimes/cpp/behaviour try."""
    sources = sorted((PROGRAMS / "behaviour").glob("*.cpp"))
    return [
        name
        for source in sources
        for name in re.findall(r"^PROMISE\((\w+)\)", source.read_text(), re.MULTILINE)
    ]
