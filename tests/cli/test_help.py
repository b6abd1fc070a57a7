"""Help in two lengths, completion in the shell, and what is suggested for unknown options."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import click
import pytest
from support import ROOT

from shadergen.backends.devices import DEVICES
from shadergen.compiler.cli import cli
from shadergen.compiler.cli.help import COMMAND_GROUPS, COMMON, OPTION_GROUPS, Command, groups

SCREEN = 40  # lines


@pytest.fixture(autouse=True)
def columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("command", ["", *cli.commands])
def test_help_fits_on_a_screen(shadergen, command):
    out = shadergen(*filter(None, [command]), "--help").out
    assert len(out.splitlines()) <= SCREEN


def test_every_command_has_a_group_and_help_all():
    assert sorted(n for group in COMMAND_GROUPS.values() for n in group) == sorted(cli.commands)
    for name, command in cli.commands.items():
        assert isinstance(command, Command), f"{name}: decorate it with cli.help.command"


def test_help_names_the_options_of_user_shaders(shadergen):
    out = shadergen("compile", "--help").out
    assert "more options (mpv: --stage, --hook, --strength, --upscale-from): " in out


@pytest.mark.parametrize("name", cli.commands)
def test_help_all_shows_every_option_once(shadergen, name):
    command = cli.commands[name]
    with click.Context(command) as context:
        shown = [p for _, group in groups(command, context) for p in group]
        listed = [p for p in command.get_params(context) if not getattr(p, "hidden", False)]
    assert sorted(shown, key=id) == sorted(listed, key=id)
    out = shadergen(name, "--help-all").out
    assert not [p.opts[0] for p in listed if isinstance(p, click.Option) and p.opts[0] not in out]


def test_names_in_the_groups_are_parameters_of_commands():
    known = {p.name for c in cli.commands.values() for p in c.params}
    listed = [n for group in OPTION_GROUPS.values() for n in group]
    assert len(listed) == len(set(listed))
    assert set(listed) <= known
    for name, common in COMMON.items():
        assert set(common) <= {p.name for p in cli.commands[name].params}, name


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--devise", "Did you mean '--device'?"),
        ("--inputsize", "Did you mean '--input-size'?"),
        ("--frames", "Commands with it: bench, tune."),
    ],
)
def test_an_unknown_option_gets_the_nearest_or_its_commands(shadergen, option, says):
    ran = shadergen("compile", "m.onnx", "-o", "b", option, "1")
    assert (ran.code, says in ran.err) == (2, True), ran.err


def completed(words: str, number: int) -> list[str]:
    """Return what click offers bash for the word with a number."""
    asked = {"_SHADERGEN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    ran = subprocess.run(
        [sys.executable, "-m", "shadergen"],
        env=os.environ | asked, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.partition(",")[2] for line in ran.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("shadergen com", ["compile"]),
        ("shadergen compile --win", ["--winograd"]),
        ("shadergen run --runtime g", ["gles"]),
        ("shadergen compile --device mali", [d for d in DEVICES if d.startswith("mali")]),
        ("shadergen compile --device nvidia,apple,gles30-", ["nvidia,apple,gles30-min"]),
        ("shadergen ops pixelsh", ["PixelShuffle"]),
    ],
)
def test_the_shell_completes(words, offered):
    assert completed(words, len(words.split()) - 1) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_line_sets_up_completion(shell):
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert f"_SHADERGEN_COMPLETE={shell}_source shadergen" in text
    code = "from shadergen.compiler.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"_SHADERGEN_COMPLETE": f"{shell}_source"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "_SHADERGEN_COMPLETE" in ran.stdout
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=ran.stdout, text=True, check=True)
