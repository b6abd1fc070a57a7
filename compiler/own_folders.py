"""Folders of pictures that a command writes: it replaces those of its earlier run, and no others.

A JSON file in the folder, the index, names the command and the files that it wrote.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ShadergenError, few, unwritable
from ..records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class OwnFolder:
    """A folder that a command writes.

    Attributes:
        path: of the folder.
        command: that writes it, such as "shadergen view".
        index: the name of the index.
        help: how to name another folder.
        apart: names in it that the command checks elsewhere.
    """

    path: Path
    command: str
    index: str
    help: str
    apart: Collection[str] = ()

    def check(self) -> None:
        """Refuse a path that is no folder, and a folder of other files without an index.

        Raises:
            ShadergenError: SG0501.
        """
        try:
            if not self.path.exists():
                return
            if not self.path.is_dir():
                raise ShadergenError("SG0501", f"'{self.path}' is not a folder", help=self.help)
            names = sorted(entry.name for entry in self.path.iterdir())
        except OSError as error:
            raise unwritable(f"to '{self.path}'", error, self.help) from None
        if self._earlier() is None:
            self._refuse([name for name in names if name not in self.apart])

    def replace(self, files: Mapping[str, bytes], data: Mapping[str, Any]) -> None:
        """Write files in place of those of the earlier run, and the index with further ``data``.

        Raises:
            ShadergenError: SG0501; also for another file with the name of one of ``files``.
        """
        self.check()
        earlier = self._earlier() or []
        self._refuse([n for n in files if n not in earlier and (self.path / n).exists()])
        index = {"generator": f"{self.command} {__version__}", "files": list(files), **data}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for name in earlier:
                (self.path / name).unlink(missing_ok=True)
            # The index is the first file: an interruption leaves no file that it does not name.
            (self.path / self.index).write_text(json.dumps(index, indent=1), "utf-8")
            for name, content in files.items():
                (self.path / name).write_bytes(content)
        except OSError as error:
            raise unwritable(f"to '{self.path}'", error, self.help) from None

    def _earlier(self) -> list[str] | None:
        """Return the files of the earlier run; None without its index."""
        try:
            index = json.loads((self.path / self.index).read_text("utf-8"))
            if not str(index["generator"]).startswith(f"{self.command} "):
                return None
            return [name for name in map(str, index["files"]) if re.fullmatch(r"[\w-]+\.png", name)]
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _refuse(self, foreign: list[str]) -> None:
        if foreign:
            raise ShadergenError(
                "SG0501",
                f"'{self.path}' holds files that {self.command} did not write: {few(foreign, 5)}",
                help=self.help,
            )


def png_names(names: Collection[str]) -> list[str]:
    """Return the names of the PNGs of tensors: their numbers, then their own names."""
    digits = len(str(len(names) - 1))
    stems = (re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40] or "tensor" for name in names)
    return [f"{k:0{digits}d}_{stem}.png" for k, stem in enumerate(stems)]


def as_png(image: Any, **options: Any) -> bytes:
    """Return a PIL image as a PNG; the options are those of its ``save``."""
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()
