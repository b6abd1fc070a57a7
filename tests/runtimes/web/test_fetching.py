"""What the web runtime fetches in a real Chromium: checks only where they are due."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from support import ESPCN
from support.browser import INSECURE, ROOT, chromium, served

import shadergen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gl
CHECKS = {"checks.js", "forms.js", "schema.js", "sizes.js"}
VARIANT = {"variants.js", "swiftshader.json"}
PLAY = """async ([url, { picks, renderer, ...options }]) => {
    const { load, Runner } = await import("/web/shadergen.js");
    const gl = document.createElement("canvas").getContext("webgl2");
    if (picks) options.gl = gl;
    const ask = gl.getParameter.bind(gl);
    const { UNMASKED_RENDERER_WEBGL } = gl.getExtension("WEBGL_debug_renderer_info");
    if (renderer) gl.getParameter = (n) => n === UNMASKED_RENDERER_WEBGL ? renderer : ask(n);
    try {
        const runner = new Runner(await load(url, {}, options), gl);
        await runner.init();
        const { shape } = runner.build.inputs[0];
        runner.upload("low", new Float32Array(shape.reduce((a, b) => a * b)).fill(0.5));
        runner.run();
        const { variant } = runner.build;
        return { numbers: runner.read().length, ...(variant ? { variant } : {}) };
    } catch ({ code, where }) {
        return { code, member: where.at(-1) };
    }
}"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("builds")
    for name, size in (("fixed", "8x12"), ("open", "dynamic")):
        options = {"input_size": size, "device": "webgl2-min", "validate": False}
        options["weights"] = "constants"  # a file of weights would need a checksum
        shadergen.compile_model(ESPCN, folder / name, **options)
    options |= {"device": "nvidia,swiftshader,webgl2-min", "input_size": "8x12"}
    shadergen.compile_model(ESPCN, folder / "several", **options)
    return folder


@pytest.fixture(scope="module")
def address(builds: Path) -> Iterator[str]:
    with served(web=ROOT / "runtime_glue" / "web", builds=builds) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


def play(browser: Any, address: str, name: str, **options: Any) -> tuple[Any, set[str]]:
    """Return what comes of a build on a page of its own, and which checks the page fetched."""
    page = browser.new_page()
    fetched = []
    page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    try:
        page.goto(address)
        result = page.evaluate(PLAY, [f"/builds/{name}", options])
    finally:
        page.close()
    assert "loading.js" in fetched
    return result, (CHECKS | VARIANT | {"nvidia.json"}) & set(fetched)


PLAYED = {"numbers": 16 * 24}


def test_a_build_is_played_as_the_compiler_wrote_it_without_checks(
    browser: Any, address: str
) -> None:
    assert play(browser, address, "fixed") == (PLAYED, set())


def test_a_build_of_dynamic_sizes_is_checked(browser: Any, address: str) -> None:
    result, fetched = play(browser, address, "open")
    assert result["numbers"]
    assert fetched == CHECKS


@pytest.mark.parametrize(
    ("name", "trusted", "fetched"),
    [("fixed", False, CHECKS), ("fixed", True, set()), ("open", True, {"sizes.js"})],
)
def test_a_page_may_say_what_it_trusts(
    browser: Any, address: str, name: str, trusted: bool, fetched: set[str]
) -> None:
    result, found = play(browser, address, name, trusted=trusted)
    assert result["numbers"]
    assert found == fetched


def test_without_a_checksum_of_the_browsers_a_schedule_is_checked(
    browser: Any, address: str
) -> None:
    insecure = address.replace("localhost", INSECURE)
    assert play(browser, insecure, "fixed") == (PLAYED, CHECKS)


@pytest.mark.parametrize(
    ("options", "variant", "fetched"),
    [
        ({}, "", set()),
        ({"picks": True}, "swiftshader", VARIANT),
        # which requires OpenGL ES 3.1
        ({"picks": True, "renderer": "NVIDIA"}, "", {"variants.js", "nvidia.json"}),
        ({"picks": True, "renderer": "Mali-G78"}, "", {"variants.js"}),
        ({"picks": True, "trusted": False}, "swiftshader", VARIANT | CHECKS),
    ],
)
def test_the_variant_for_a_context_is_played_and_no_other_is_fetched(
    browser: Any, address: str, options: dict[str, Any], variant: str, fetched: set[str]
) -> None:
    result, found = play(browser, address, "several", **options)
    assert result == PLAYED | ({"variant": variant} if variant else {})
    assert found == fetched


def test_a_variant_that_was_edited_is_checked(browser: Any, address: str, builds: Path) -> None:
    shutil.copytree(builds / "several", builds / "spoiled")
    path = builds / "spoiled" / "variants" / "swiftshader.json"
    path.write_text(path.read_text().replace('"width": 12', '"width": 11', 1))
    result, fetched = play(browser, address, "spoiled", picks=True)
    assert result == {"code": "SG0503", "member": "variants/swiftshader.json: inputs[0].shape"}
    assert fetched == VARIANT | CHECKS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (',\n "version"', ', \n "version"'),
        ('"model": "espcn_x2"', '"model": "espcn_x3"'),
        ('"version": "5.7"', '"version": "5.9"'),
        ('"sha256": "', '"sha265": "'),
    ],
    ids=["space", "name", "version", "member"],
)
def test_an_edited_schedule_is_checked(
    browser: Any, address: str, builds: Path, before: str, after: str
) -> None:
    edit(builds, before, after)
    result, fetched = play(browser, address, "edited")
    unknown = {"code": "SG0503", "member": "schedule.json: the whole document"}
    assert result == (unknown if "sha265" in after else PLAYED)
    assert fetched == CHECKS


def test_a_schedule_without_the_checksum_is_checked_and_played(
    browser: Any, address: str, builds: Path
) -> None:
    schedule = json.loads((builds / "fixed" / "schedule.json").read_text("utf-8"))
    edit(builds, f' "sha256": "{schedule["sha256"]}",\n', "")
    assert play(browser, address, "edited") == (PLAYED, CHECKS)


def test_an_edit_that_breaks_a_rule_is_refused(browser: Any, address: str, builds: Path) -> None:
    edit(builds, '"width": 12', '"width": 11')
    refused = {"code": "SG0503", "member": "schedule.json: inputs[0].shape"}
    assert play(browser, address, "edited") == (refused, CHECKS)


def test_without_the_file_of_the_checks_an_edited_schedule_is_not_played(
    browser: Any, address: str, builds: Path
) -> None:
    edit(builds, '"model": "espcn_x2"', '"model": "espcn_x3"')
    page = browser.new_page()
    try:
        page.route("**/checks.js", lambda route: route.fulfill(status=404))
        page.goto(address)
        assert page.evaluate(PLAY, ["/builds/fixed", {}]) == PLAYED
        failure = page.evaluate(
            """() => import("/web/shadergen.js").then(({ load }) => load("/builds/edited"))
                .then(() => "played", ({ message }) => message)"""
        )
    finally:
        page.close()
    # as docs/embedding.md says
    assert failure.startswith("Failed to fetch dynamically imported module: http")
    assert failure.endswith("/checks.js")


def edit(builds: Path, before: str, after: str) -> None:
    """Write the build of fixed sizes as "edited", with a text in its schedule replaced once."""
    shutil.rmtree(builds / "edited", ignore_errors=True)
    path = shutil.copytree(builds / "fixed", builds / "edited") / "schedule.json"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")
