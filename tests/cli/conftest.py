"""A build for commands to look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ESPCN

from shadergen.compiler import driver


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """Return a build of the shipped network."""
    folder = tmp_path_factory.mktemp("module") / "build"
    driver.compile_model(ESPCN, folder, driver.Options(input_size={"": (16, 24)}))
    return folder
