"""Names that models choose: whatever they hold, messages show them and nothing acts on them."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from shadergen.backends.schedule import MOST_PORTS
from shadergen.compiler.cli import cli, main, output
from shadergen.compiler.driver import compile_model
from shadergen.compiler.options import Options
from shadergen.errors import ShadergenError, printable

COMMANDS = Path(output.__file__).parent
RUNTIMES = COMMANDS.parents[1] / "runtime_glue"
HOSTILE = "a\x1b[2J\x07\r\x9b31m\u202eevil\u2066\u200b\nmatches onnxruntime [red]b[/red]"
SHOWN = r"a\x1b[2J\x07\r\x9b31m\u202eevil\u2066\u200b\nmatches onnxruntime [red]b[/red]"


def written(folder: Path, name: str) -> Path:
    """Write a model all of whose names begin with ``name``."""
    x, y, z = (f"{name}{end}" for end in "xyz")
    nodes = [
        helper.make_node("Sin", [x], [y], name=f"{name}1"),
        helper.make_node("MaxPool", [y], [z], name=f"{name}2", kernel_shape=(2, 2)),
    ]
    ports = [
        [helper.make_tensor_value_info(port, TensorProto.FLOAT, shape)]
        for port, shape in ((x, (1, 4, 5, 6)), (z, (1, 4, 4, 5)))
    ]
    graph = helper.make_graph(nodes, name, *ports)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def said(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    """Return what a command prints."""
    cli.main([str(c) for c in command], standalone_mode=False)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "shown"),
    (
        (HOSTILE, SHOWN),
        ("\ud800", r"\ud800"),
        ("schön ☃ 網 'x'", "schön ☃ 網 'x'"),
        ("\u2028\u00a0\ufeff\x7f", r"\u2028\xa0\ufeff\x7f"),
    ),
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()


def test_errors_quote_names_safely_and_keep_their_own_lines() -> None:
    what = f"layer '{HOSTILE}' is wrong"
    error = ShadergenError("SG0201", what, where=HOSTILE, why="one\ntwo", help="\x1b]0;title\x07")
    assert str(error).split("\n") == [
        f"error[SG0201]: layer '{SHOWN}' is wrong",
        f"  --> {SHOWN}",
        "  = why: one",
        "  = why: two",
        r"  = help: \x1b]0;title\x07",
    ]


@pytest.mark.gl
def test_no_command_prints_a_name_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr(output, "WIDTH", 1000)
    model, build = written(tmp_path, HOSTILE), tmp_path / "build"
    texts = [
        said(capsys, "compile", model, "-o", build, "--explain"),
        said(capsys, "inspect", build),
        said(capsys, "verify", model, "--input-range", "0:0"),  # warns of the output
    ]
    for text in texts:
        assert all(line.isprintable() for line in text.split("\n"))
        assert SHOWN in text
    assert [t for t in texts[2].split("\n") if t.startswith("matches")] == texts[2].split("\n")[
        -2:-1
    ]


@pytest.mark.parametrize(
    ("failure", "status"), ((ShadergenError("SG0502", HOSTILE), 2), (KeyError(HOSTILE), 70))
)
def test_failures_of_either_kind_show_names_safely(
    failure: Exception,
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise failure

    monkeypatch.setattr("sys.argv", ["shadergen", "inspect", str(tmp_path)])
    monkeypatch.setattr("shadergen.compiler.inspection.inspect_build", fails)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == status
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))


def test_commands_print_through_one_file() -> None:
    for path in COMMANDS.glob("*.py"):
        if path.name == "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("echo", "secho"), f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Name):
                assert node.id != "print", f"{path.name}:{node.lineno}"


@pytest.mark.gl
@pytest.mark.parametrize("name", ("n" * 1500, "n" * 5000))
def test_long_names_are_verified(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "matches onnxruntime" in said(capsys, "verify", written(tmp_path, name))


@pytest.mark.parametrize("kind", ("input", "output"))
def test_more_ports_than_a_schedule_holds_are_refused_by_number(kind: str, tmp_path: Path) -> None:
    schema = json.loads((RUNTIMES / "schedule.schema.json").read_text("utf-8"))
    assert schema["properties"][f"{kind}s"]["maxItems"] == MOST_PORTS
    most, one = [f"x{k}" for k in range(MOST_PORTS + 1)], ["x"]
    sources, results = (most, one) if kind == "input" else (one, most)
    if kind == "input":
        nodes = [helper.make_node("Sum", sources, results)]
    else:
        nodes = [helper.make_node("Relu", sources, [name]) for name in results]
    ports = (
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 4)) for n in names]
        for names in (sources, results)
    )
    model = helper.make_model(
        helper.make_graph(nodes, "g", *ports),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ShadergenError) as caught:
        compile_model(tmp_path / "net.onnx", tmp_path / "build", Options(validate=False))
    assert caught.value.code == "SG0208"
    assert caught.value.what == f"the model has 257 {kind}s"
    assert f"--{kind}s NAME" in caught.value.help
