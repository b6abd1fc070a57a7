"""The command line run in the tests' own process, and options forced on all of them.

``--force stage=compute,fetch=image``: run any tests with these options in place of their own.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.forcing import forced

from shadergen.compiler import cli
from shadergen.compiler.cli import output


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--force",
        default="",
        metavar="OPTION=VALUE,...",
        help="compile with these options whatever a test asks for; those of other values, where "
        "a test states what they give, may then fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have 80, which narrows tables
    stack = ExitStack()
    stack.enter_context(forced(config.getoption("--force")))
    config.add_cleanup(stack.close)


@dataclass(frozen=True)
class Ran:
    """How the command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def shadergen(capsys, monkeypatch):
    """Return a function that runs the command line in this process."""

    # What is printed must not depend on how busy the machine is.
    monkeypatch.setattr(output, "LOG_INTERVAL", threading.TIMEOUT_MAX)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["shadergen", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        printed = capsys.readouterr()
        return Ran(int(exit_.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture
def fresh_random_numbers(request, monkeypatch):
    """Let no test's numbers depend on those that ran before it."""
    monkeypatch.setattr(request.module, "RNG", np.random.default_rng(0))
