"""A command replaces the files of its earlier run in a folder, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shadergen.compiler.own_folders import OwnFolder, png_names
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path


def folder(path: Path, command: str = "shadergen view") -> OwnFolder:
    return OwnFolder(path, command, "index.json", "name another folder", apart=("build",))


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.iterdir())


def test_files_of_the_earlier_run_are_removed_and_others_stay(tmp_path: Path) -> None:
    own = folder(tmp_path / "new")
    own.check()
    own.replace({"0_a.png": b"a", "1_b.png": b"b"}, {"scale": "layer"})
    (own.path / "mine.png").write_bytes(b"mine")
    own.replace({"0_c.png": b"c"}, {})
    assert names(own.path) == ["0_c.png", "index.json", "mine.png"]
    assert (own.path / "0_c.png").read_bytes() == b"c"


def test_a_file_of_another_is_not_replaced(tmp_path: Path) -> None:
    own = folder(tmp_path)
    own.replace({"0_a.png": b"a"}, {})
    (tmp_path / "1_b.png").write_bytes(b"mine")
    with pytest.raises(ShadergenError, match=r"shadergen view did not write: 1_b\.png"):
        own.replace({"0_a.png": b"new", "1_b.png": b"new"}, {})
    assert (tmp_path / "0_a.png").read_bytes() == b"a"
    assert (tmp_path / "1_b.png").read_bytes() == b"mine"


def test_folders_of_others_and_of_other_commands_are_refused(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    folder(tmp_path).check()  # the compiler checks this one
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(ShadergenError, match=r"shadergen view did not write: index\.json"):
        folder(tmp_path).check()
    (tmp_path / "index.json").unlink()
    folder(tmp_path, "shadergen demo").replace({}, {})
    with pytest.raises(ShadergenError, match="shadergen view did not write"):
        folder(tmp_path).check()


def test_an_index_removes_no_files_elsewhere(tmp_path: Path) -> None:
    own = folder(tmp_path / "own")
    own.replace({}, {})
    (tmp_path / "x.png").write_bytes(b"mine")
    index = {"generator": "shadergen view 1", "files": ["../x.png", "a.txt", 3]}
    (own.path / "index.json").write_text(json.dumps(index))
    own.replace({}, {})
    assert (tmp_path / "x.png").exists()


def test_names_of_pngs_are_in_order_and_legal_everywhere() -> None:
    assert png_names(["conv/1", "?"]) == ["0_conv_1.png", "1_tensor.png"]
    assert png_names(["a"] * 11)[1] == "01_a.png"
