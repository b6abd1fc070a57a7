"""Networks into files, with a reference beside them: torch's two ONNX exporters, Keras' formats."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from .catalogue import LOGITS, Case
from .images import scenes
from .reference import run_keras, run_onnx, write_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = NDArray[Any]
PICTURES = 8  # to calibrate with and to try: what is fitted to a few says little of others


def file_name(form: str) -> str:
    """Return what a form's file is called."""
    ending = {"keras": "keras", "h5": "h5", "tf-keras": "keras", "tf-h5": "h5"}.get(form, "onnx")
    return f"model.{ending}"


def export(case: Case, folder: Path) -> None:
    """Make a network, give it weights, and write it and its reference."""
    pictures = _pictures(case)
    path = folder / file_name(case.form)
    with _quiet():
        if case.framework == "torch":
            _export_torch(case, path)
            outputs = run_onnx(path, pictures)
        else:
            pictures = pictures.transpose(0, 2, 3, 1)
            model = _save_keras(case, pictures, path)
            outputs = run_keras(model, pictures)
    write_reference(case, pictures, outputs, folder / "reference.npz")


def torch_module(case: Case) -> Any:
    """Return a network of torch with the weights that its files have."""
    import torch

    from .torch_weights import calibrate

    torch.manual_seed(0)
    batch = torch.from_numpy(_pictures(case))
    return calibrate(case.network.make(case.size), batch, logits=_logits(case))


def in_float64(case: Case, x: Array) -> list[Array]:
    """Return what torch computes of an input, in float64: one array for each output."""
    import torch

    with torch.no_grad():
        found = torch_module(case).double()(torch.from_numpy(x).double())
    return [y.numpy() for y in (found if isinstance(found, (tuple, list)) else (found,))]


def _pictures(case: Case) -> Any:
    pictures = scenes(PICTURES, (case.network.channels, *case.size), seed=1)
    return np.clip(64 * pictures + 128, 0, 255) if case.network.pixels else pictures


def _logits(case: Case) -> float:
    return LOGITS if case.network.classifier else 0.0


def _export_torch(case: Case, path: Path) -> None:
    import torch

    exporter, _, opset = case.form.partition("-")
    torch.onnx.export(
        torch_module(case),
        (torch.from_numpy(_pictures(case)[:1]),),
        path,
        input_names=["image"],
        opset_version=int(opset),
        dynamo=exporter == "dynamo",
    )


def _save_keras(case: Case, pictures: Any, path: Path) -> Any:
    import keras

    from .keras_weights import calibrate

    keras.backend.clear_session()  # names of layers start from 0 again
    # Every kernel is replaced; JAX would compile a generator of random numbers for every shape.
    with patch.object(keras.initializers.VarianceScaling, "__call__", _zeros):
        model = case.network.make(case.size)
    calibrate(model, pictures, logits=_logits(case)).save(path)
    return model


def _zeros(initialiser: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
    return np.zeros(shape, dtype or "float32")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporters, which remark on much and print progress."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
