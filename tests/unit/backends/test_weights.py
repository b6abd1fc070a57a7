"""The weight file: its unnamed file, and saving."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from support import refusal

from shadergen.backends.weights import WeightFile

CONTENT = np.arange(64, dtype=np.uint8)
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux links unnamed files")


def filled(folder: Path | None) -> WeightFile:
    weights = WeightFile(folder)
    weights.add([CONTENT])
    return weights


@linux
def test_saving_in_the_folder_links_the_unnamed_file(tmp_path):
    weights = filled(tmp_path)
    assert not any(tmp_path.iterdir())  # without a name, nothing is left of a killed process
    weights.save(tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").samefile(f"/proc/self/fd/{weights._file.fileno()}")
    assert (tmp_path / "weights.bin").read_bytes() == CONTENT.tobytes()


def test_saving_twice_makes_independent_files(tmp_path):
    weights = filled(tmp_path)
    for name in ("a", "b"):
        weights.save(tmp_path / name)
    (tmp_path / "a").write_bytes(b"changed")
    assert (tmp_path / "b").read_bytes() == CONTENT.tobytes()


@linux
def test_what_was_linked_is_not_copied_after_it_changed(tmp_path):
    weights = filled(tmp_path)
    weights.save(tmp_path / "a")
    with (tmp_path / "a").open("r+b") as file:
        file.truncate(10)
    refused = refusal(weights.save, tmp_path / "b")
    assert refused.code == "SG0505"
    assert (tmp_path / "a").stat().st_size == 10


@pytest.mark.parametrize("name", ["missing", None])
def test_saving_copies_without_a_usable_folder(tmp_path, name):
    weights = filled(name and tmp_path / name)
    weights.save(tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == CONTENT.tobytes()


def test_saving_copies_if_linking_fails(tmp_path, monkeypatch):
    def refused(*paths: object, **options: object) -> None:
        raise OSError(1, "Operation not permitted")

    weights = filled(tmp_path)
    monkeypatch.setattr(os, "link", refused)
    weights.save(tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == CONTENT.tobytes()


def test_saved_weights_have_the_permissions_of_other_files(tmp_path):
    filled(tmp_path).save(tmp_path / "weights.bin")
    (tmp_path / "other").touch()
    assert (tmp_path / "weights.bin").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("inside", [True, False])
def test_a_full_disk_is_refused_by_name(tmp_path, monkeypatch, inside):
    def full(parts: object) -> None:
        raise OSError(28, "No space left on device")

    weights = WeightFile(tmp_path if inside else None)
    monkeypatch.setattr(weights, "_add", full)
    refused = refusal(weights.add, [CONTENT])
    assert refused.code == "SG0501"
    assert refused.why == "No space left on device"
    assert (str(tmp_path) in refused.what) == inside
