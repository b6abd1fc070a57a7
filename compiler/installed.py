"""Where the installed package keeps what is not Python."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "cmake": ROOT / "runtime_glue" / "cpp",  # for add_subdirectory()
    "include": ROOT / "runtime_glue" / "cpp" / "include",
    "web": ROOT / "runtime_glue" / "web",
    "networks": ROOT / "examples" / "networks",  # trained, for `shadergen demo`
    "samples": ROOT / "examples" / "web",
}
