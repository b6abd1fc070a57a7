"""Tutorials that run: the blocks of a document, carried out in their order.

- A block with a title (```cpp title="scene.cpp") becomes a file.
- ```python runs, all such blocks of a document in one module.
- ```console runs the commands after "$ "; the lines below them must be printed, but for their
  numbers.
- ```text must have been printed by the Python block before it, but for its numbers. One that
  begins with "error[" is not checked.
- Others, as ```sh, are only shown: commands that do not end, or that install.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import ROOT

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?")
PATIENCE = 300  # seconds


@dataclass
class Tutorial:
    """A document being followed in a folder; ``instead`` replaces parts of its Python."""

    folder: Path
    instead: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "tutorial"})
    printed: str = ""

    def follow(self, document: str) -> None:
        """Carry out all blocks of a document."""
        (self.folder / "examples").symlink_to(ROOT / "examples")
        text = (ROOT / "docs" / "tutorials" / document).read_text("utf-8")
        for language, title, block in BLOCK.findall(text):
            if title:
                path = self.folder / title
                path.parent.mkdir(exist_ok=True)
                path.write_text(block, "utf-8")
            elif language == "python":
                self._python(block, document)
            elif language == "console":
                self._console(block)
            elif language == "text" and not block.startswith("error["):
                check_shown(block, self.printed)

    def _python(self, block: str, document: str) -> None:
        for old, new in self.instead.items():
            block = block.replace(old, new)
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, document, "exec"), self.names)
        finally:
            os.chdir(before)
        self.printed = out.getvalue()

    def _console(self, block: str) -> None:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            check_shown(shown, self._run(command))

    def _run(self, command: str) -> str:
        programs = self.folder / ".bin"
        if not programs.is_dir():
            programs.mkdir()
            shadergen = programs / "shadergen"
            shadergen.write_text(f'#!/bin/sh\nexec {sys.executable} -m shadergen "$@"\n')
            shadergen.chmod(shadergen.stat().st_mode | stat.S_IXUSR)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
        return done.stdout


def check_shown(shown: str, printed: str) -> None:
    """Check that the lines of a document were printed, apart from numbers and renderers."""
    lines = {_masked(line) for line in printed.splitlines()}
    missing = [s for s in shown.splitlines() if s.strip() and _masked(s) not in lines]
    assert not missing, f"{missing} not in:\n{printed}"


def _masked(line: str) -> str:
    return " ".join(NUMBER.sub("0", re.sub(r" on [^,]+\(.*\)$", "", line)).split())
