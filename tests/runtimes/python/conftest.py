"""The good build, a GL context, and a runner of the one on the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.playing import IMAGE, X
from support.schedule_fixtures import GOOD

from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load


@pytest.fixture
def good() -> Build:
    return load(GOOD)


@pytest.fixture
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context


@pytest.fixture
def runner(good: Build, context: HeadlessContext) -> Iterator[Runner]:
    with Runner(good, context) as runner:
        runner.upload("x", X)
        runner.upload("img", IMAGE)
        yield runner
