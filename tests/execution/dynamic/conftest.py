"""A GL context for the builds of a file, and Keras."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.keras_reading import keras

from shadergen.runtime_glue.python import HeadlessContext

__all__ = ["keras"]


@pytest.fixture(scope="module")
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context
