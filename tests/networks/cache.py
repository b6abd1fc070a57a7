"""Model files and their references, made once and kept in .build."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from . import exporting
from .catalogue import Case
from .reference import run_onnx, write_reference

CACHE = Path(__file__).resolve().parents[2] / ".build" / "networks"
TENSORFLOW = "TENSORFLOW_PYTHON"  # names an interpreter with TensorFlow 2.15 and tf2onnx
MAKERS = ("cache.py", "exporting.py", "images.py", "reference.py")
PREFIXES = {"torch": "torch_", "keras": "keras_", "tensorflow": "tf_"}


def model_file(case: Case) -> Path:
    """Return the model's file, written anew unless it is in the cache.

    ``reference.npz`` lies beside it: see :mod:`.reference`. Where the framework is missing, a file
    that another machine made serves, if it was copied into the cache.
    """
    folder = _copied(case) if _absent(case) else _folder(case)
    path = (folder or _folder(case)) / exporting.file_name(case.form)
    if not path.exists():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent.parent) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            if case.framework == "tensorflow":
                _write_with_tensorflow(case, made)
            else:
                exporting.export(case, made)
            if not path.exists():  # another process may have been as quick
                made.rename(path.parent)
    return path


def missing(case: Case) -> str:
    """Return what a case needs and this machine has not, or nothing."""
    absent = _absent(case)
    return "" if absent and _copied(case) else absent


def _absent(case: Case) -> str:
    """Return what making a case needs and this interpreter has not, or nothing."""
    if case.framework == "tensorflow":
        return "" if os.environ.get(TENSORFLOW) else f"{TENSORFLOW} in the environment"
    modules = ("torch", "torchvision", "onnxscript") if case.framework == "torch" else ("keras",)
    return ", ".join(m for m in modules if find_spec(m) is None)


def _copied(case: Case) -> Path | None:
    """Return the newest folder for a case in the cache, whatever made it."""
    found = (p.parent for p in CACHE.glob(f"{case}-*/reference.npz"))
    return max(found, key=lambda folder: folder.stat().st_mtime, default=None)


def _folder(case: Case) -> Path:
    """Return a folder for the case, another one when what makes it changes."""
    digest = hashlib.sha256()
    for pattern in (*MAKERS, f"{PREFIXES[case.framework]}*.py"):
        for source in sorted(Path(__file__).parent.glob(pattern)):
            digest.update(source.read_bytes())
    for package in ("keras", "torch", "torchvision", "onnxscript"):
        try:
            digest.update(f"{package} {version(package)}\n".encode())
        except PackageNotFoundError:
            digest.update(f"{package} absent\n".encode())
    return CACHE / f"{case}-{digest.hexdigest()[:8]}"


def _write_with_tensorflow(case: Case, folder: Path) -> None:
    script = Path(__file__).with_name("tf_models.py")
    name, sizes = case.network.make(case.size), [str(s) for s in case.size]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    for variable in ("KERAS_BACKEND", "PYTHONPATH"):
        environment.pop(variable, None)
    subprocess.run(
        [os.environ[TENSORFLOW], script, name, *sizes, case.form, folder],
        check=True,
        env=environment,
        capture_output=True,
    )
    with np.load(folder / "outputs.npz") as stored:
        images, outputs = stored["x"], [stored["y"][:, None]]
    if case.form == "tf2onnx":
        outputs = run_onnx(folder / "model.onnx", images)
    write_reference(case, images, outputs, folder / "reference.npz")
