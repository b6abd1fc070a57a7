"""Keras, and comparing with it."""

from __future__ import annotations

import numpy as np
import pytest
from support.keras_reading import assert_close, keras, run

__all__ = ["keras"]


@pytest.fixture
def same_as_keras(keras, tmp_path):
    """Save a model in both formats and compare what each gives with what Keras computes."""

    def compare(model, suffixes=(".keras", ".h5"), **request):
        rng = np.random.default_rng(3)
        for weight in model.weights:
            low = 0.4 if "variance" in weight.path else -0.7
            weight.assign(rng.uniform(low, 0.9, weight.shape).astype("f4"))
        inputs = [
            rng.uniform(
                -2,
                2,
                tuple(s or k for s, k in zip(i.shape, (1, 7, 6), strict=False))
                + tuple(i.shape[3:]),
            ).astype("f4")
            for i in model.inputs
        ]
        wanted = model(inputs if len(inputs) > 1 else inputs[0])
        wanted = list(wanted.values()) if isinstance(wanted, dict) else wanted
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        wanted = [np.asarray(keras.ops.convert_to_numpy(w)) for w in wanted]
        for suffix in suffixes:
            path = tmp_path / f"model{suffix}"
            model.save(path)
            assert_close(run(path, inputs, **request), wanted)

    return compare
