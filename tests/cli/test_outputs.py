"""What commands write besides builds: whole, and over nothing that is not of their own kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support import ESPCN, contents
from support.cli_models import SIZE

FOREIGN = {
    "schedule": '{"format": "shadergen"}',
    "list": "[]",
    "text": "mine",
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_profile_replaces_no_other_file(shadergen: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "mine.json").write_text(FOREIGN[kind])
    before = contents(tmp_path)
    ran = shadergen("doctor", "--save", tmp_path / "mine.json")
    assert ran.code == 2
    assert "mine.json' exists and is not a device profile" in ran.err
    assert ran.err.startswith("error[SG0501]")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_benchmark_replaces_no_other_file(shadergen: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "b.json").write_text(FOREIGN[kind])
    before = contents(tmp_path)
    ran = shadergen("bench", tmp_path / "missing", "--json", tmp_path / "b.json")
    assert ran.err.startswith("error[SG0501]")  # before the builds are looked at
    assert "b.json' exists and is not a report of shadergen bench" in ran.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["x.npy", "link.npy"])
def test_a_result_does_not_replace_its_input(shadergen: Any, tmp_path: Path, name: str) -> None:
    shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE)
    np.save(tmp_path / "x.npy", np.zeros((1, 16, 24, 1), np.float32))
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    before = contents(tmp_path)
    ran = shadergen("run", tmp_path / "b", tmp_path / "x.npy", "-o", tmp_path / name)
    assert ran.err.startswith("error[SG0501]")
    assert f"{name}' is the input" in ran.err
    assert contents(tmp_path) == before


@pytest.mark.gl
def test_a_result_replaces_an_earlier_one_through_a_link(shadergen: Any, tmp_path: Path) -> None:
    shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE)
    Image.new("RGB", (24, 16), "red").save(tmp_path / "x.png")
    (tmp_path / "elsewhere.data").write_text("earlier")
    (tmp_path / "y.png").symlink_to(tmp_path / "elsewhere.data")
    assert shadergen("run", tmp_path / "b", tmp_path / "x.png", "-o", tmp_path / "y.png").code == 0
    assert (tmp_path / "y.png").is_symlink()
    assert Image.open(tmp_path / "elsewhere.data").size == (48, 32)
    assert {p.name for p in tmp_path.iterdir()} == {"b", "x.png", "y.png", "elsewhere.data"}


def test_a_dump_replaces_an_earlier_dump_and_leaves_the_rest(
    shadergen: Any, tmp_path: Path
) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "notes.txt").write_text("mine")
    (tmp_path / "ir" / "net.ir").write_text("mine")
    for _ in range(2):
        command = ("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--dump-ir", tmp_path / "ir")
        assert shadergen(*command).code == 0
    assert (tmp_path / "ir" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "ir" / "net.ir").read_text() == "mine"


@pytest.mark.parametrize("name", ["constants.npz", "00_import.ir", "failed_after_import.ir"])
@pytest.mark.parametrize("kind", ["file", "archive", "link"])
def test_a_dump_replaces_no_other_file(
    shadergen: Any, tmp_path: Path, name: str, kind: str
) -> None:
    (tmp_path / "ir").mkdir()
    path = tmp_path / "ir" / name
    if kind == "file":
        path.write_text("mine")
    elif kind == "archive":
        np.savez(path.with_suffix(".npz"), weights=np.ones(3))
        path.with_suffix(".npz").rename(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path)
    ran = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--dump-ir", tmp_path / "ir")
    assert ran.err.startswith("error[SG0501]")
    assert f"holds files that a dump would replace: {name}" in ran.err
    assert "choose another folder with --dump-ir" in ran.err
    assert contents(tmp_path) == before


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    from shadergen.compiler.benchmark.report import check_json

    (tmp_path / "b.json").touch()  # as mktemp makes it
    check_json(tmp_path / "b.json")
    (tmp_path / "b.json").write_text(json.dumps({}))
    with pytest.raises(Exception, match="is not a report"):
        check_json(tmp_path / "b.json")


def test_a_profile_by_another_ending_is_refused_with_the_ending_it_needs(
    shadergen: Any, tmp_path: Path
) -> None:
    ran = shadergen("doctor", "--save", tmp_path / "mine.txt")
    assert "a device profile's name must end in .json" in ran.err
    assert not list(tmp_path.iterdir())


def test_a_result_of_an_unknown_format_is_refused_by_its_name(
    shadergen: Any, tmp_path: Path
) -> None:
    shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE)
    np.save(tmp_path / "x.npy", np.zeros((1, 16, 24, 1), np.float32))
    ran = shadergen("run", tmp_path / "b", tmp_path / "x.npy", "-o", tmp_path / "y.doc")
    assert f"the format of '{tmp_path / 'y.doc'}' is not supported" in ran.err
    assert ".npz" in ran.err
