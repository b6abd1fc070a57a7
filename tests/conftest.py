"""``--force stage=compute,fetch=image``: run any tests with these options in place of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from shadergen.compiler.options import Options
    from shadergen.ir.target import Target


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--force",
        default="",
        metavar="OPTION=VALUE,...",
        help="compile with these options whatever a test asks for; those of other values, where "
        "a test states what they give, may then fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    text = config.getoption("--force")
    if not text:
        return
    from shadergen.compiler.options import Options

    forced = dict(part.split("=") for part in text.split(","))
    values = {name: int(v) if v.isdigit() else v for name, v in forced.items()}
    original = Options.target

    def target(self: Options) -> Target:
        return original(replace(self, **values))

    pytest.MonkeyPatch().setattr(Options, "target", target)
