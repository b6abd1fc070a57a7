"""The web runtime in a real Chromium: it plays what Python plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.browser import ROOT, chromium, served
from support.runtime_builds import runtime_builds, write
from support.schedule_fixtures import FIXTURES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("builds")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def page(builds: Path) -> Iterator[Any]:
    folders = {
        "web": ROOT / "runtime_glue" / "web",
        "tests": ROOT / "tests" / "runtimes" / "web",
        "builds": builds,
        "fixtures": FIXTURES,
    }
    with served(**folders) as address, chromium() as browser:
        page = browser.new_page()
        page.goto(address)
        yield page


@pytest.fixture(scope="module")
def played(page: Any) -> dict[str, dict[str, Any]]:
    script = "async (names) => (await import('/tests/play.js')).playAll(names)"
    result: dict[str, dict[str, Any]] = page.evaluate(script, [b.name for b in runtime_builds()])
    return result


@pytest.mark.parametrize("case", runtime_builds(), ids=lambda case: case.name)
def test_a_build_gives_what_onnxruntime_gives(case: Any, played: dict[str, dict[str, Any]]) -> None:
    result = played[case.name]
    if case.compute:
        assert result["code"] == "SG0602", result
        assert "this GL lacks OpenGL ES 3.1" in result["message"]
        return
    assert "errors" in result, result["message"]
    assert max(result["errors"].values()) <= 1
