"""Save the models of tests/keras_cases with their results, computed by Keras.

    python tools/make_keras_cases.py tests/frontends/keras/files/keras2_cases.tar.xz
        with Keras 2 (pip install tensorflow==2.15): the archive that is checked in
    python tools/make_keras_cases.py FOLDER/part.tar --part 0/2
        with Keras 3: what tests/frontends/keras/test_cases.py does, one half of the cases at a time

An archive holds, for the k-th case, k/model.h5 and k/model.keras; arrays.npz with the inputs
k/in0, ... and the outputs k/out0, ... in the order of the model's; and index.json, which gives k
for each case's name and says which files Keras itself could not write, and why.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import lzma
import os
import sys
import tarfile
import tempfile
import warnings
import zipfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Of the backends of Keras 3, numpy alone compiles nothing: the cases are many and small.
os.environ["KERAS_BACKEND"] = "numpy"

import click
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from keras_cases import Case, of_keras

logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

VERSION = int(keras.__version__.split(".")[0])


def outputs(model: keras.Model, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Run a model, compiled where TensorFlow's kernels lack channels_first on a CPU."""
    feed = inputs if len(inputs) > 1 else inputs[0]
    if VERSION >= 3:
        return [np.asarray(y) for y in keras.tree.flatten(model(feed, training=False))]
    import tensorflow as tf

    try:
        result = model(feed, training=False)
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        result = tf.function(model, jit_compile=True)(feed, training=False)
    return [np.asarray(y) for y in tf.nest.flatten(result)]


def saved(model: keras.Model, suffix: str, folder: Path) -> bytes:
    path = folder / f"model{suffix}"
    model.save(path)
    return path.read_bytes() if suffix == ".h5" else undated(path)


def undated(path: Path) -> bytes:
    """Return a .keras archive without times, uncompressed, so that the whole compresses well."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in sorted(old.namelist()):
            new.writestr(zipfile.ZipInfo(name), old.read(name))
    return buffer.getvalue()


def reset() -> None:
    """Start the names of layers anew."""
    if VERSION < 3:
        keras.backend.clear_session()
    else:
        keras.backend.clear_session(free_memory=False)  # or it spends most of the time on that


def made(cases: dict[int, tuple[str, Case]]) -> dict[str, bytes]:
    """Return the files of an archive."""
    files: dict[str, bytes] = {}
    arrays: dict[str, np.ndarray] = {}
    index: dict[str, dict] = {}
    for k, (name, case) in cases.items():
        reset()
        entry = index[name] = {"number": k}
        try:
            model = case.model(keras)
            inputs = case.inputs()
            able = case.instead(keras, model) if case.instead else model
            results = [] if case.refused else outputs(able, inputs)
        except Exception as error:
            sys.exit(f"{name}: {type(error).__name__}: {error}")
        arrays |= {f"{k}/in{i}": x for i, x in enumerate(inputs)}
        arrays |= {f"{k}/out{i}": y for i, y in enumerate(results)}
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".h5", ".keras"):
                try:
                    files[f"{k}/model{suffix}"] = saved(model, suffix, Path(folder))
                except Exception as error:
                    entry[suffix] = f"{type(error).__name__}: {error}".splitlines()[0]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    files["arrays.npz"] = buffer.getvalue()
    files["index.json"] = json.dumps({"keras": keras.__version__, "cases": index}).encode()
    return files


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("archive", type=Path)
    parser.add_argument("--part", default="0/1")
    arguments = parser.parse_args()
    first, step = map(int, arguments.part.split("/"))
    numbered = dict(enumerate(of_keras(VERSION).items()))
    files = made({k: case for k, case in numbered.items() if k % step == first})
    compressed = arguments.archive.suffix == ".xz"
    with (
        lzma.open(arguments.archive, "wb", preset=9 | lzma.PRESET_EXTREME)
        if compressed
        else arguments.archive.open("wb") as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        # Files of one kind side by side compress best.
        for name, data in sorted(files.items(), key=lambda item: item[0].rpartition(".")[2]):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    click.echo(
        f"{arguments.archive.name}: {len(files)} files, {arguments.archive.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
