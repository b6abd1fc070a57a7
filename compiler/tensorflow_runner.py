"""Runs a Keras model in TensorFlow 2.15: a script for an interpreter that has that.

    python tensorflow_runner.py MODEL [OUTPUT ...]

says how the model's inputs and outputs are called once it is loaded, in a line of JSON, and reads
the name of a folder: in it, ``inputs.npz`` has the inputs x0, x1, ..., and ``outputs.npz`` gets the
outputs y0, y1, ... in that order; another line says that they are there. The script ends with its
standard input, that is with the process that started it. Layers of QKeras are known
where that is installed. The script imports nothing of the package, which is not there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from typing import Any


def custom_objects() -> dict[str, Any]:
    """Return the classes of QKeras, if there are any."""
    found: dict[str, Any] = {}
    with suppress(ImportError):
        import_module("qkeras.utils")._add_supported_quantized_objects(found)
    return found


def follow(lines: SimpleQueue[str]) -> None:
    """Pass on the lines of the standard input; end the process where they end."""
    with open(0, "rb", buffering=0, closefd=False) as file:  # no lock that delays the exit
        for line in file:
            lines.put(os.fsdecode(line).rstrip("\n"))
    os._exit(1)


def main() -> None:
    """Load, say how inputs and outputs are called, wait for the inputs, run."""
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=follow, args=(lines,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what TensorFlow prints is no answer
    path, *names = sys.argv[1:]
    np: Any = import_module("numpy")
    tf: Any = import_module("tensorflow")
    model = tf.keras.models.load_model(
        path, custom_objects=custom_objects(), compile=False, safe_mode=True
    )
    if names:
        model = tf.keras.Model(model.inputs, [model.get_layer(name).output for name in names])
    outputs = model.output_names
    if isinstance(model.output, dict):
        outputs = sorted(model.output)  # as they are flattened below
    answers.write(json.dumps({"inputs": model.input_names, "outputs": outputs}) + "\n")
    folder = lines.get()
    with np.load(os.path.join(folder, "inputs.npz")) as stored:
        inputs = [stored[f"x{k}"] for k in range(len(stored.files))]
    results = tf.nest.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    arrays = {f"y{k}": np.asarray(y) for k, y in enumerate(results)}
    np.savez(os.path.join(folder, "outputs.npz"), **arrays)
    answers.write("true\n")


if __name__ == "__main__":
    main()
