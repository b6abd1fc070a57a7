"""Check and measure the GPU at hand; see command.py.

Run it as a folder: it finds its modules and the package by itself, so it needs no set-up besides
the Python packages.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINKS = ROOT / ".build" / "gpu" / "path"
PACKAGE = LINKS / "shadergen"  # the checkout may have another name


def find_modules() -> None:
    """Let this process and those it starts import the package, the tests and the benchmarks."""
    LINKS.mkdir(parents=True, exist_ok=True)
    if PACKAGE.resolve() != ROOT:
        PACKAGE.unlink(missing_ok=True)
        PACKAGE.symlink_to(os.path.relpath(ROOT, LINKS))  # right in a copy of the checkout, too
    folders = [str(LINKS), str(ROOT / "tests"), str(ROOT / "bench")]
    sys.path[:1] = folders  # in place of this folder, or of the current one
    known = filter(None, [os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *known])


if __name__ == "__main__":
    find_modules()
    try:
        from gpu_check.command import main
    except ModuleNotFoundError as error:
        sys.exit(
            f"make gpu: the Python package {error.name} is missing\n"
            "run `make gpu`, which installs it; without a network see docs/gpu.md, "
            "'A machine without internet access'"
        )
    sys.exit(main())
