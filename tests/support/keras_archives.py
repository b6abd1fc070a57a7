"""Keras files of one dense layer, made for tests of how weights are stored."""

from __future__ import annotations

import json
import zipfile

import h5py

INPUT = {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [1, 4]}}


def dense(name, units):
    config = {"name": name, "units": units, "use_bias": False, "trainable": True}
    return {"class_name": "Dense", "config": {**config, "activation": "linear"}}


def sequential(*layers):
    return {"class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, *layers]}}


def archive(path, weights, units=3, compression=zipfile.ZIP_DEFLATED):
    """Write a .keras archive whose HDF5 file has what ``weights`` puts into it."""
    source = path.with_suffix(".h5")
    with h5py.File(source, "w") as file:
        weights(file)
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as made:
        made.writestr("config.json", json.dumps(sequential(dense("dense", units))))
        made.writestr("metadata.json", '{"keras_version": "3.3.0"}')
        made.write(source, "model.weights.h5")
    return path


def legacy(path, kernel, units=3):
    """Write an .h5 file whose only weight is what ``kernel`` makes of a group and a name."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["model_config"] = json.dumps(sequential(dense("dense", units)))
        group = file.create_group("model_weights/dense")
        group.attrs["weight_names"] = [b"kernel"]
        kernel(group, "kernel")
    return path
