"""A GL context for the builds of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shadergen.runtime_glue.python import HeadlessContext


@pytest.fixture(scope="module")
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context
