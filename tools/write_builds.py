"""Write the builds of many models into a folder, to compare two states of the compiler.

    python tools/write_builds.py before
    ...
    python tools/write_builds.py after && diff -rq before after

Each build is a folder as ``shadergen compile`` writes it. The models are those of ``tests`` that
need nothing but ONNX, the conformance cases of the onnx package, and, where they are at hand, the
networks of ``make bench`` and the files in ``../shared/models``. What is refused is written as a
text with the reason.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx.backend.test.loader import load_model_tests

from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

if TYPE_CHECKING:
    from collections.abc import Iterator

Job = tuple[str, Path, dict[str, Any]]  # name, model, options

GENERAL: dict[str, dict[str, Any]] = {
    "gles30": {"device": "gles30"},
    "mobile": {"device": "gles31-mobile"},
    "llvmpipe": {"device": "llvmpipe"},
    "compute": {"device": "gles32-desktop", "stage": "compute"},
}
SPECIAL: dict[str, dict[str, Any]] = {
    "swiftshader": {"device": "swiftshader"},
    "2d": {"device": "gles30", "textures": "2d", "weights": "ubo"},
    "zero": {"device": "llvmpipe", "fetch": "image-zero", "winograd": "2x2"},
    "tiles": {"device": "llvmpipe", "stage": "compute", "winograd": "4x4", "parameters": "ubo"},
    "half": {"device": "gles30", "precision": "mediump", "weights": "texture", "mrt": 2},
    "int8": {"device": "llvmpipe", "weights": "texture", "weight_format": "int8"},
}


def jobs(scratch: Path) -> Iterator[Job]:
    """Yield every build, the models of tests written to a folder."""
    from support.onnx_models import typed_model
    from support.runtime_builds import runtime_builds
    from support.runtime_models import MODELS

    def typed(model: Any) -> Any:
        return typed_model(model.nodes, model.weights, model.feeds, model.outputs, opset=20)

    def written(name: str, proto: Any) -> Path:
        path = scratch / f"{name}.onnx"
        path.write_bytes(proto.SerializeToString())
        return path

    for build in runtime_builds():
        yield f"runtime-{build.name}", written(build.name, typed(build.model())), build.options
    for name, make in MODELS.items():
        path = written(name, typed(make()))
        for setting, options in (GENERAL | SPECIAL).items():
            yield f"model-{name}-{setting}", path, options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, where cases overflow
        cases = load_model_tests(kind="node")
    for case in cases:
        path = written(case.name, case.model)
        for setting in ("gles30", "compute"):
            yield f"{case.name}-{setting}", path, GENERAL[setting]
    for path in networks():
        for setting, options in (GENERAL | SPECIAL).items():
            yield f"{path.parent.name}-{path.stem}-{setting}", path, options


def networks() -> list[Path]:
    """Return the files of whole networks that are at hand."""
    cached = sorted((ROOT / ".build" / "networks").glob("*/*.onnx"))
    shared = sorted((ROOT.parent / "shared" / "models").glob("*.*"))
    return cached + [p for p in shared if p.suffix in (".onnx", ".h5", ".hdf5", ".keras")]


def write(job: tuple[Job, Path]) -> None:
    """Write one build, or the reason why there is none."""
    (name, path, options), folder = job
    try:
        compile_model(path, folder / name, Options(**options, validate=False))
    except ShadergenError as error:
        (folder / f"{name}.txt").write_text(f"{error.code} {error.what}\n", encoding="utf-8")


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="builds whose names have this in them")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.folder.exists():
        shutil.rmtree(arguments.folder)
    arguments.folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        wanted = [(j, arguments.folder) for j in jobs(Path(scratch)) if arguments.only in j[0]]
        with Pool(arguments.jobs) as pool:
            for done, _ in enumerate(pool.imap_unordered(write, wanted, chunksize=8), 1):
                if sys.stderr.isatty():
                    print(f"\r{done} of {len(wanted)}", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
