"""Models for the command line to take or to refuse, and what a folder holds."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from support import ESPCN

SIZE = ("--input-size", "16x24")


def altered(folder: Path, change: Any, name: str = "altered.h5") -> Path:
    """Copy the shipped model and change the open copy."""
    path = folder / name
    shutil.copyfile(ESPCN, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def layer(number: int, **entries: object) -> Any:
    def change(file: h5py.File) -> None:
        config = json.loads(file.attrs["model_config"])
        entry = config["config"]["layers"][number]
        entry.update(entries)
        entry["config"].update({"name": entry["name"], "trainable": True, "dtype": "float32"})
        file.attrs["model_config"] = json.dumps(config)

    return change


def onnx(folder: Path, *nodes: Any, domains: tuple[str, ...] = (), **inits: np.ndarray) -> Path:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 16, 24))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in inits.items()],
    )
    imports = [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *imports])
    model.ir_version = 8
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def zipped(folder: Path, name: str, *members: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, b"")
    return path


def weights_only(file: h5py.File) -> None:
    del file.attrs["model_config"]
    for key in list(file["model_weights"]):
        file.move(f"model_weights/{key}", key)
    file.attrs["layer_names"] = file["model_weights"].attrs["layer_names"]
    del file["model_weights"]


def poison(file: h5py.File) -> None:
    file["model_weights/conv2/conv2/kernel"][0, 0, 0, 0] = np.nan


CODE = {"class_name": "__lambda__", "config": {"code": "4wEA", "defaults": None, "closure": None}}
LAMBDA = {"class_name": "Lambda", "config": {"function": CODE, "arguments": {}}}
