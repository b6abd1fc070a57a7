"""What the loaders of all runtimes are fuzzed with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.schedule_fixtures import DYNAMIC, EXTERNAL, GOOD, VARIANTS


@pytest.fixture(scope="module")
def fuzzed_variants(fuzzed_folder: Path) -> Path:
    """Return a folder whose variant "mali" is to be fuzzed: it has the files of all good builds."""
    folder = shutil.copytree(fuzzed_folder, fuzzed_folder.with_name("variants"))
    return Path(shutil.copytree(VARIANTS, folder, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def fuzzed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of all good builds, for schedules made from any of them."""
    folder = tmp_path_factory.mktemp("fuzz") / "build"
    for build in (VARIANTS, DYNAMIC, EXTERNAL, GOOD):
        shutil.copytree(build, folder, dirs_exist_ok=True)
    return folder
