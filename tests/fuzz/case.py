"""A model, what to compile it with, what to feed it; and what came of that."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Status = Literal["right", "refused", "inconclusive", "wrong", "crash", "hang"]
STATUSES: tuple[Status, ...] = ("right", "refused", "inconclusive", "wrong", "crash", "hang")
FAILED = ("wrong", "crash", "hang")
ABOUT = "case.json"


@dataclass(frozen=True)
class Case:
    """What is tried.

    Attributes:
        model: the bytes of the model file.
        suffix: of its name: ".onnx", ".keras", ".h5".
        options: of ``compiler.options.Options``, by name, as JSON has them.
        feeds: the inputs of each run, by name. With ``options["dynamic"]`` they differ in size.
        written: compile the file as the command line does, not the model in memory.
        made_of: names of the table's entries.
    """

    model: bytes = field(repr=False)
    suffix: str
    options: dict[str, Any]
    feeds: tuple[Arrays, ...] = field(repr=False)
    written: bool = False
    made_of: tuple[str, ...] = ()

    def save(self, folder: Path) -> Path:
        """Write the case to a folder; return the model's file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"model{self.suffix}"
        path.write_bytes(self.model)
        about = {"suffix": self.suffix, "options": self.options, "written": self.written}
        about |= {"made_of": self.made_of, "feeds": len(self.feeds)}
        (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        for k, feed in enumerate(self.feeds):
            np.savez(folder / f"feed{k}.npz", **feed)  # type: ignore[arg-type]
        return path

    @staticmethod
    def load(folder: Path) -> Case:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        return Case(
            (folder / f"model{about['suffix']}").read_bytes(),
            about["suffix"],
            about["options"],
            tuple(dict(np.load(folder / f"feed{k}.npz")) for k in range(about["feeds"])),
            about["written"],
            tuple(about["made_of"]),
        )


@dataclass(frozen=True)
class Verdict:
    """What came of a case.

    Attributes:
        status: "right"; "refused" by name; "inconclusive" where rounding explains the difference;
            "wrong"; "crash" for any exception that is no refusal, or a process that ended; "hang".
        code: of the refusal; for a crash, the class of the exception.
        text: what was said.
        made_of: of the case.
        kind: "onnx" or "keras", and whether sizes were dynamic.
        fallback: whether the options were refused and the case tried without them.
    """

    status: Status
    code: str = ""
    text: str = ""
    made_of: tuple[str, ...] = ()
    kind: str = ""
    fallback: str = ""

    @property
    def failed(self) -> bool:
        return self.status in FAILED
