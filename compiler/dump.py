"""Files of the graph after every pass: for ``--dump-ir`` and bug reports."""

from __future__ import annotations

import re
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..backends.build_folder import open_regular
from ..errors import ShadergenError, few, reason
from ..ir import text

if TYPE_CHECKING:
    from ..ir.graph import Graph

_CONSTANTS = "constants.npz"
_TEXT = re.compile(r"([0-9]{2,}|failed_after)_\w+\.ir")
_CONSTANT = re.compile(r"[0-9a-f]+\.npy")
_START = b"graph "


class Dump:
    """Writes the graph's text after every pass, or keeps the last one for a bug report."""

    def __init__(self, folder: Path | None) -> None:
        """Refuse a folder in which a dump would replace anything but an earlier dump.

        Raises:
            ShadergenError: SG0501, naming the files.
        """
        if folder is not None:
            _check_folder(folder)
        self.folder = folder
        self.count = 0
        self.last: tuple[str, Graph] | None = None
        self.written: set[str] = set()  # digests of constants

    def __call__(self, step: str, graph: Graph) -> None:
        self.last = (step, graph)
        if self.folder is not None:
            self._write(self.folder, f"{self.count:02d}_{step}", graph)
        self.count += 1

    def save(self) -> Path | str:
        """Write the last graph seen and return where."""
        if self.last is None:
            return "(no graph yet)"
        folder = self.folder or Path(tempfile.mkdtemp(prefix="shadergen-"))
        step, graph = self.last
        return self._write(folder, f"failed_after_{step}", graph)

    def _write(self, folder: Path, stem: str, graph: Graph) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{stem}.ir"
            path.write_text(text.to_text(graph), "utf-8")
            self._write_constants(folder / _CONSTANTS, graph)
        except OSError as error:
            raise ShadergenError(
                "SG0501",
                f"cannot write the IR to '{folder}'",
                why=reason(error),
                help="choose another folder with --dump-ir",
            ) from None
        return path

    def _write_constants(self, path: Path, graph: Graph) -> None:
        """Add the constants that are not in the archive yet: passes share nearly all of them."""
        with zipfile.ZipFile(path, "a" if self.written else "w") as archive:
            for name, data in text.constants(graph).items():
                if name not in self.written:
                    self.written.add(name)
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, data, allow_pickle=False)


def _check_folder(folder: Path) -> None:
    """Refuse a folder in which a dump would replace anything but an earlier dump."""
    try:
        named = [p for p in folder.iterdir() if _TEXT.fullmatch(p.name) or p.name == _CONSTANTS]
    except OSError:  # there is none yet; what else may be wrong is said when it is written
        return
    foreign = [p.name for p in sorted(named) if not _is_dumped(p)]
    if foreign:
        raise ShadergenError(
            "SG0501",
            f"'{folder}' holds files that a dump would replace: {few(foreign)}",
            why="no earlier dump wrote these files",
            help="choose another folder with --dump-ir",
        )


def _is_dumped(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            if path.name != _CONSTANTS:
                return file.read(len(_START)) == _START
            with zipfile.ZipFile(file) as archive:
                return all(map(_CONSTANT.fullmatch, archive.namelist()))
    except (OSError, zipfile.BadZipFile):
        return False
