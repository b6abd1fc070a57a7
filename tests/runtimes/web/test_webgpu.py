"""The web runtime on WebGPU in a real Chromium: it plays what Python plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.browser import ROOT, chromium, served
from support.runtime_builds import webgpu_builds, write

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    builds = tmp_path_factory.mktemp("builds")
    write(builds, webgpu_builds())
    folders = {
        "web": ROOT / "runtime_glue" / "web",
        "tests": ROOT / "tests" / "runtimes" / "web",
        "builds": builds,
    }
    with served(**folders) as address, chromium() as browser:
        page = browser.new_page()
        page.goto(address)
        if not page.evaluate("async () => Boolean(await navigator.gpu?.requestAdapter())"):
            pytest.skip("this Chromium has no WebGPU adapter")
        yield page


@pytest.fixture(scope="module")
def played(page: Any) -> dict[str, dict[str, Any]]:
    script = "async (names) => (await import('/tests/play.js')).playAll(names, true)"
    result: dict[str, dict[str, Any]] = page.evaluate(script, [b.name for b in webgpu_builds()])
    return result


@pytest.mark.parametrize("case", webgpu_builds(), ids=lambda case: case.name)
def test_a_build_gives_what_onnxruntime_gives(case: Any, played: dict[str, dict[str, Any]]) -> None:
    result = played[case.name]
    assert "errors" in result, result["message"]
    assert max(result["errors"].values()) <= 1
