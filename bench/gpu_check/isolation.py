"""A process with a deadline that writes records, and what is left of it when it crashes or hangs.

``python -m gpu_check.isolation STAGE SETTING RECORDS SECONDS`` is the process of a stage.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .setting import Record, Setting

USED = 0.85  # of a stage's time: then it begins no more jobs
KILLED = 10.0  # seconds for a killed process to end; one inside a hung driver may never
SAID = 200  # characters of a process's last line


@dataclass(frozen=True)
class Ran:
    """What a process left: its records, the seconds it took, and why it did not end well."""

    records: tuple[Record, ...]
    seconds: float
    problem: str = ""


def run_stage(name: str, setting: Setting, seconds: float) -> Ran:
    """Run a stage in a process of its own, for at most so many seconds."""
    folder = setting.folder
    folder.mkdir(parents=True, exist_ok=True)
    setting.save(folder / "setting.json")
    records = folder / f"{name}.jsonl"
    arguments = (name, folder / "setting.json", records, seconds)
    command = [sys.executable, "-m", "gpu_check.isolation", *map(str, arguments)]
    return run_process(command, records, folder / f"{name}.log", seconds)


def run_process(command: Sequence[str], records: Path, log: Path, seconds: float) -> Ran:
    """Run a command that writes records to a file; end it and all it started at a deadline."""
    records.write_text("", "utf-8")
    started = time.monotonic()
    problem = ""
    with log.open("wb") as messages:
        process = subprocess.Popen(
            command,
            stdout=messages,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},  # so that messages are in order
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
            if status:
                ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
                problem = f"ended with {ended}: {_last_line(log)}".rstrip(": ")
        except subprocess.TimeoutExpired:
            problem = f"took more than {seconds:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(KILLED)
    return Ran(_read(records), time.monotonic() - started, problem)


def _read(path: Path) -> tuple[Record, ...]:
    """Return the whole lines of a file; a process that was killed may have begun another."""
    lines = path.read_text("utf-8", "replace").split("\n")[:-1]
    return tuple(json.loads(line) for line in lines)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line[:SAID] for line in reversed(lines) if line), "")


def write_records(records: Iterable[Record], path: Path) -> None:
    """Write records as they come."""
    with path.open("w", encoding="utf-8") as lines:
        for record in records:
            lines.write(json.dumps(record) + "\n")
            lines.flush()


if __name__ == "__main__":
    from .stages import STAGES

    stage, setting, path, seconds = sys.argv[1:]
    found = STAGES[stage].run(Setting.read(Path(setting)), USED * float(seconds))
    write_records(found, Path(path))
