"""Replacing a build: interrupted anywhere, on a full disk, and by several at once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support import ESPCN, contents, refusal
from support.small_builds import FILES, files_of, nothing

from shadergen.backends import replacing
from shadergen.backends.replacing import prepare, replacing_file
from shadergen.backends.writer import write_build
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options

HERE = Path(__file__).parent
NEW = files_of("shaders/new.frag", b"new")
linux = pytest.mark.skipif(sys.platform != "linux", reason="faults.c is for glibc on Linux")
locks = pytest.mark.skipif(os.name != "posix", reason="this system has no locks on folders")


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed: run make, which installs one"
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", HERE / "faults.c", "-o", library, "-ldl"]
    subprocess.run(command, check=True)
    return library


@linux
@pytest.mark.parametrize("exchange", [1, 0], ids=["exchanged", "moved twice"])
@pytest.mark.parametrize("error", [0, errno.ENOSPC], ids=["killed", "full disk"])
def test_at_every_call_there_is_a_whole_build_and_the_next_leaves_nothing_else(
    faults: Path, tmp_path: Path, error: int, exchange: int
) -> None:
    arguments = [tmp_path / "w", str(error), "1", str(exchange)]
    run = subprocess.run(
        [sys.executable, HERE / "interrupting.py", *arguments],
        env={**os.environ, "LD_PRELOAD": str(faults), "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["wrong"] == []
    assert found["calls"] > 50
    assert found["earlier"] > found["new"] > 5  # it was interrupted before and after
    assert found["missing"] == (0 if exchange else 1)


def left_behind(output: Path, *moves: tuple[str, str]) -> Path:
    """Write a build and move folders as a killed process leaves them; return its scratch folder."""
    scratch = output.parent / f".{output.name}.shadergen-abcd_123"
    scratch.mkdir(mode=0o700)
    write_build(NEW, scratch / "new", nothing)
    for start, end in moves:
        (output.parent / start).rename(scratch / end)
    return scratch


@locks
def test_a_build_that_a_killed_process_moved_away_comes_back(tmp_path: Path) -> None:
    write_build(FILES, tmp_path / "b", nothing)
    before = contents(tmp_path)
    left_behind(tmp_path / "b", ("b", "old"))
    prepare(tmp_path / "b", nothing)
    assert contents(tmp_path) == before


@locks
def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write_build(FILES, tmp_path / "b", nothing)
    others = [".b.backup12", ".b.shadergen-notes", ".b.shadergen-mine.old", ".c.shadergen-abcd_123"]
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "new").write_text("mine")
    (tmp_path / ".b.shadergen-aaaaaaaa").symlink_to(tmp_path / ".b.backup12")
    before = contents(tmp_path)
    left_behind(tmp_path / "b")
    prepare(tmp_path / "b", nothing)
    assert contents(tmp_path) == before
    scratch = left_behind(tmp_path / "b")
    (scratch / "new").rename(scratch / "old")
    prepare(tmp_path / "b", nothing)
    assert contents(tmp_path) == before


@locks
def test_what_came_into_a_folder_that_is_to_be_removed_is_kept_and_blocks_nothing(
    tmp_path: Path,
) -> None:
    write_build(FILES, tmp_path / "b", nothing)
    scratch = left_behind(tmp_path / "b")
    (scratch / "new").rename(scratch / "gone")
    (scratch / "gone" / "notes.txt").write_text("mine")
    (kept,) = prepare(tmp_path / "b", nothing)
    assert kept == tmp_path / "b.kept-abcd_123"
    assert (kept / "notes.txt").read_text() == "mine"
    assert (kept / "weights.bin").exists()
    assert write_build(NEW, tmp_path / "b", nothing) == []
    assert {p.name for p in tmp_path.iterdir()} == {"b", kept.name}


def test_what_comes_right_before_the_exchange_is_kept_and_the_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = replacing._move_into_place

    def late(scratch: Path, output: Path) -> None:
        (output / "notes.txt").write_text("mine")
        move(scratch, output)

    size = Options(input_size={"": (8, 8)}, validate=False)
    compile_model(ESPCN, tmp_path / "b", size)
    monkeypatch.setattr(replacing, "_move_into_place", late)
    compiled = compile_model(ESPCN, tmp_path / "b", size)
    monkeypatch.undo()
    (kept,) = tmp_path.glob("b.kept-*")
    assert f"held other files, which are kept in '{kept}'" in "".join(compiled.notes)
    assert (kept / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "b" / "notes.txt").exists()
    compile_model(ESPCN, tmp_path / "b", size)
    assert {p.name for p in tmp_path.iterdir()} == {"b", kept.name}


@locks
def test_a_lock_of_the_users_on_the_folder_above_is_not_waited_for(tmp_path: Path) -> None:
    import fcntl

    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    write = threading.Thread(target=write_build, args=(FILES, tmp_path / "b"), daemon=True)
    write.start()
    write.join(60)
    waits = write.is_alive()
    os.close(held)
    assert not waits


@locks
def test_another_process_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(replacing, "_PATIENCE", 0)
    lock = tmp_path / ".b.shadergen-lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for call in (write_build, lambda *a: prepare(tmp_path / "b", nothing)):
            refused = refusal(call, FILES, tmp_path / "b", nothing)
            assert refused.code == "SG0501"
            assert refused.what == f"'{tmp_path / 'b'}' is being written by another process"
            assert str(lock) in refused.why
    write_build(FILES, tmp_path / "b", nothing)  # as a killed process leaves it
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@locks
def test_a_lock_that_its_holder_removed_meanwhile_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    lock, flock, removed = tmp_path / ".b.shadergen-lock", fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not removed:
            lock.unlink()
            removed.append(lock)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with replacing._locked(tmp_path / "b"):
        assert removed
        assert lock.is_file()
    assert not lock.exists()


@locks
@pytest.mark.parametrize("kind", ["text", "link", "folder"])
def test_a_file_of_a_locks_name_is_neither_used_nor_removed(tmp_path: Path, kind: str) -> None:
    lock = tmp_path / ".b.shadergen-lock"
    if kind == "text":
        lock.write_text("mine")
    elif kind == "link":
        lock.symlink_to(tmp_path / "elsewhere")
    else:
        lock.mkdir()
    before = contents(tmp_path)
    refused = refusal(write_build, FILES, tmp_path / "b", nothing)
    assert refused.code == "SG0501"
    assert refused.what == f"'{lock}' cannot be locked"
    assert contents(tmp_path) == before
    assert not (tmp_path / "elsewhere").exists()


@locks
def test_a_scratch_folder_that_is_exchanged_while_it_is_locked_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, take = left_behind(tmp_path / "b"), replacing._lock
    mine = tmp_path / "mine"
    (mine / "new").mkdir(parents=True)
    (mine / "new" / "notes.txt").write_text("mine")

    def late(folder: Path) -> int | None:
        descriptor = take(folder)
        scratch.rename(tmp_path / "moved")
        mine.rename(scratch)
        return descriptor

    monkeypatch.setattr(replacing, "_lock", late)
    prepare(tmp_path / "b", nothing)
    assert (scratch / "new" / "notes.txt").read_text() == "mine"


@locks
def test_a_link_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert replacing._lock(tmp_path / "link") is None


@pytest.mark.parametrize("name", ["n" * 255, "\u00e9" * 127, "n" * 201])
def test_names_of_any_length_that_a_file_can_have_are_written(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        write_build(FILES, tmp_path / "builds" / name, nothing)
    with replacing_file(tmp_path / "files" / name) as fresh:
        fresh.write_text("new")
    assert [p.name for p in tmp_path.glob("builds/*")] == [name]
    assert [p.name for p in tmp_path.glob("files/*")] == [name]


def test_long_names_that_begin_alike_have_scratch_folders_of_their_own() -> None:
    assert replacing._short("n" * 250 + "a") != replacing._short("n" * 250 + "b")


@locks
def test_a_compilation_that_still_runs_keeps_its_scratch_folder(tmp_path: Path) -> None:
    def meanwhile(folder: Path) -> None:
        write_build(NEW, tmp_path / "b", nothing)
        assert (tmp_path / "b" / "shaders" / "new.frag").is_file()
        assert (folder / "schedule.json").is_file()

    write_build(FILES, tmp_path / "b", meanwhile)
    assert (tmp_path / "b" / "shaders" / "a.frag").is_file()
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@locks
@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "moved twice"])
def test_many_that_write_one_folder_end_with_one_whole_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(replacing, "_exchange", lambda a, b: False)
    builds = [files_of(f"shaders/{i}.frag", bytes([i])) for i in range(8)]
    failed = []

    def write(files: object) -> None:
        try:
            for _ in range(8):
                write_build(files, tmp_path / "b", nothing)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(files,)) for files in builds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    (last,) = (p.stem for p in (tmp_path / "b" / "shaders").iterdir())
    assert (tmp_path / "b" / "weights.bin").read_bytes()[:1] == bytes([int(last)])
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file, link = tmp_path / "file.txt", tmp_path / "link.txt"
    file.write_text("earlier")
    link.symlink_to(file)
    with pytest.raises(ZeroDivisionError), replacing_file(link) as fresh:
        fresh.write_text("half")
        raise ZeroDivisionError
    assert file.read_text() == "earlier"
    with replacing_file(link) as fresh:
        fresh.write_text("new")
        assert file.read_text() == "earlier"
    assert file.read_text() == "new"
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.txt", "link.txt"]


@linux
def test_a_pipe_without_a_path_is_written_to():
    reading, writing = os.pipe()
    with os.fdopen(reading), replacing_file(Path(f"/dev/fd/{writing}")) as fresh:
        fresh.write_text("new")
        os.close(writing)
        assert os.read(reading, 9) == b"new"
