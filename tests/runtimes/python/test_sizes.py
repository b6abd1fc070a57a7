"""Dynamic sizes: expressions, constraints, and runs at different sizes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.playing import Tracer, make_texture
from support.schedule_fixtures import DYNAMIC, FIXTURES, GOOD, bounded, change, refused

from shadergen.errors import ShadergenError
from shadergen.runtime_glue.python import Build, HeadlessContext, Runner, load
from shadergen.runtime_glue.python.sizes import LARGEST, chosen, evaluate_postfix, resolve

SIZES = {"height": 5, "width": 8}


# expressions


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (["height"], 5),
        ([7], 7),
        (["height", "width", "-"], -3),
        (["width", 3, "+", 4, "/"], 2),
        (["height", 100, "-", 7, "/"], -14),  # floor of -95 / 7
        (["height", 100, "-", 7, "%"], 3),
        (["height", -3, "/"], -2),
        (["height", -3, "%"], -1),
        (["height", "width", "min", 6, "max"], 6),
        ([2, "height", "width", "*", "+"], 42),
        ([LARGEST], LARGEST),
    ],
)
def test_an_expression_is_worked_out_in_integers(expression: list[Any], value: int) -> None:
    assert evaluate_postfix(expression, SIZES) == value


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (["depth"], "there is no parameter 'depth'"),
        (["height", "*"], "fewer than two operands"),
        (["height", 2], "its expression leaves 2 values, not one"),
        ([], "its expression leaves 0 values, not one"),
        (["height", 5, "height", "-", "/"], "divides by zero"),
        (["height", 0, "%"], "divides by zero"),
        ([LARGEST, 1, "+", 1, "-"], "beyond 2^53"),
        ([-LARGEST, 2, "*"], "beyond 2^53"),
    ],
)
def test_an_expression_without_value_says_why(expression: list[Any], says: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        evaluate_postfix(expression, SIZES)
    assert says in str(caught.value)


@given(
    a=st.integers(-(10**6), 10**6), b=st.integers(-(10**6), 10**6).filter(lambda value: value != 0)
)
def test_quotient_and_remainder_belong_together(a: int, b: int) -> None:
    quotient, remainder = evaluate_postfix([a, b, "/"], {}), evaluate_postfix([a, b, "%"], {})
    assert quotient * b + remainder == a
    assert 0 <= remainder * (1 if b > 0 else -1) < abs(b)


# loading


def test_a_build_is_loaded_at_its_defaults() -> None:
    build = load(DYNAMIC)
    assert build.sizes
    assert build.sizes.values == {"height": 3, "width": 4}
    assert [port.shape for port in build.outputs] == [(1, 6, 8, 4), (1, 3, 4, 4), (1, 2, 2, 4)]
    assert build.requires.limits["texture_size"] == 8


def test_a_build_is_loaded_at_other_sizes() -> None:
    build = load(DYNAMIC, {"height": 7})
    assert [port.shape for port in build.outputs] == [(1, 14, 8, 4), (1, 7, 4, 4), (1, 4, 2, 4)]
    assert build.textures["up"].height == 14
    assert build.passes[1].macs == 112


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"width": 5}, "the width must be even"),
        ({"height": 1, "width": 2}, "there must be 4 to 1048576 pixels"),
        ({"height": 5000}, "1 to 4096"),
        ({"height": 0}, "1 to 4096"),
        ({"height": 2.0}, "integers from 1 to 4096"),
        ({"heigth": 2}, "did you mean 'height'?"),
    ],
)
def test_sizes_that_the_build_cannot_have_are_refused(sizes: dict[str, int], says: str) -> None:
    with pytest.raises(ShadergenError) as caught:
        load(DYNAMIC, sizes)
    assert caught.value.code == "SG0605"
    assert says in caught.value.render()


def test_sizes_that_are_sound_but_beyond_every_gl_are_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DYNAMIC, tmp_path / "build"))
    change(folder, "sizes", "parameters", 0, "max", to=100000)
    with pytest.raises(ShadergenError) as caught:
        load(folder, {"height": 20000})
    assert caught.value.code == "SG0605"
    assert "20000 is greater than the maximum of 16384" in caught.value.why


def test_a_size_outside_its_bounds_is_refused_with_their_reason(tmp_path: Path) -> None:
    with pytest.raises(ShadergenError) as caught:
        load(bounded(tmp_path / "build"), {"height": 2})
    assert caught.value.code == "SG0605"
    assert caught.value.supported == "3 to 4096"
    assert caught.value.why == "at least 3, for layer pool"


@pytest.mark.parametrize("height", [5000, 3.5, "a"])
def test_a_size_that_breaks_its_bounds_otherwise_has_no_reason(tmp_path: Path, height: Any) -> None:
    with pytest.raises(ShadergenError) as caught:
        load(bounded(tmp_path / "build"), {"height": height})
    supported = "3 to 4096" if height == 5000 else "integers from 3 to 4096"
    assert (caught.value.why, caught.value.supported) == ("", supported)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"width": 5}, "the nearest supported size is a height of 3 and a width of 4"),
        (
            {"height": 1, "width": 2},
            "the nearest supported size is a height of 2 and a width of 2",
        ),
    ],
)
def test_sizes_that_break_a_constraint_are_answered_with_the_nearest(
    sizes: dict[str, int], says: str
) -> None:
    with pytest.raises(ShadergenError) as caught:
        load(DYNAMIC, sizes)
    assert caught.value.help == says


def multiples(of: int, most: int) -> dict[str, Any]:
    """Return sizes that are multiples of a number and, multiplied, at most another."""
    names = ("height", "width")
    parameters = [{"name": n, "min": 1, "max": 16384, "default": of} for n in names]
    constraints = [{"value": [n, of, "%"], "min": 0, "max": 0, "why": ""} for n in names]
    area = {"value": [*names, "*"], "min": 1, "max": most, "why": "memory"}
    return {"sizes": {"parameters": parameters, "constraints": [*constraints, area]}}


@pytest.mark.parametrize(
    ("of", "most", "wanted", "says"),
    [
        (
            400,
            10**9,
            (700, 1),
            "the nearest supported size is a height of 800 and a width of 400",
        ),
        (
            1,
            10**6,
            (1001, 1000),
            "the nearest supported size is a height of 1001 and a width of 999",
        ),
        (4, 10**6, (8000, 8000), "a supported size is a height of 8000 and a width of 124"),
    ],
)
def test_sizes_far_from_any_that_a_build_can_have_are_answered_too(
    of: int, most: int, wanted: tuple[int, int], says: str
) -> None:
    with pytest.raises(ShadergenError) as caught:
        resolve(multiples(of, most), dict(zip(("height", "width"), wanted, strict=True)))
    assert caught.value.help.startswith(says)


def test_a_size_outside_its_bounds_is_answered_with_the_nearest() -> None:
    with pytest.raises(ShadergenError) as caught:
        chosen(multiples(400, 10**9), {"height": 400, "width": 400}, {"height": 20000})
    assert caught.value.help == (
        "the nearest supported size is a height of 16000 and a width of 400"
    )


def test_a_search_for_sizes_ends_in_schedules_of_very_many_constraints() -> None:
    document = multiples(1, 10**6)
    hard = {"value": ["height", "width", "+", 7, "%"], "min": 0, "max": 6, "why": ""}
    document["sizes"]["constraints"][:0] = [hard] * 1000
    with pytest.raises(ShadergenError) as caught:
        resolve(document, {"height": 16384, "width": 16384})
    assert caught.value.help.startswith("a supported size is a height of ")


def test_a_build_of_fixed_sizes_says_so() -> None:
    with pytest.raises(ShadergenError) as caught:
        load(GOOD, {"height": 3})
    assert "all its sizes are fixed" in caught.value.render()


def test_a_constraint_that_the_defaults_break_is_a_fault_of_the_build() -> None:
    error = refused(FIXTURES / "malformed" / "default_breaks_constraint")
    assert "the width must be even" in error.what


# playing


def expected(x: np.ndarray) -> tuple[np.ndarray, ...]:
    _, height, width, _ = x.shape
    quotient, remainder = divmod(height - 100, 7)
    half = x[:, ::2, ::2] + height * width + np.array([quotient, remainder] * 2)
    return 2 * x.repeat(2, 1).repeat(2, 2), 2 * x[:, ::-1, ::-1] + x, half


def check_a_frame(runner: Runner, seed: int = 0) -> None:
    x = np.random.default_rng(seed).normal(size=runner.build.inputs[0].shape).astype(np.float32)
    runner.upload("x", x)
    runner.run()
    runner.check()
    for name, value in zip(("up", "y", "half"), expected(x), strict=True):
        np.testing.assert_allclose(runner.read(name), value, atol=1e-4)


@pytest.fixture
def dynamic() -> Build:
    return load(DYNAMIC)


@pytest.fixture
def context() -> Iterator[HeadlessContext]:
    with HeadlessContext() as context:
        yield context


@pytest.mark.gl
def test_one_runner_plays_every_size(dynamic: Build, context: HeadlessContext) -> None:
    with Runner(dynamic, context) as runner:
        for seed, (height, width) in enumerate([(3, 4), (1, 4), (40, 6), (5, 130), (3, 4)]):
            runner.resize(height=height, width=width)
            check_a_frame(runner, seed)


@pytest.mark.gl
def test_resizing_compiles_and_fills_nothing(dynamic: Build, context: HeadlessContext) -> None:
    with Runner(dynamic, context) as runner:
        check_a_frame(runner)
        runner._gl = tracer = Tracer(runner._gl)
        assert runner._resources
        runner._resources._gl = runner._resources.sized._gl = tracer
        runner.resize(height=9)
        made = {"glCompileShader", "glLinkProgram", "glBufferData", "glTexSubImage3D"}
        assert not made.intersection(tracer.called)
        assert tracer.called.count("glTexStorage3D") == 3  # of four: the input is uploaded later
        check_a_frame(runner)
        assert tracer.called.count("glDeleteTextures") == 4


@pytest.mark.gl
def test_the_same_sizes_make_nothing(dynamic: Build, context: HeadlessContext) -> None:
    with Runner(dynamic, context) as runner:
        runner._gl = tracer = Tracer(runner._gl)
        runner.resize(height=3, width=4)
        assert not tracer.called


@pytest.mark.gl
def test_a_size_for_a_runner_that_is_not_ready_counts_from_init(
    dynamic: Build, context: HeadlessContext
) -> None:
    runner = Runner(dynamic, context)
    runner.resize(height=6)
    with runner:
        check_a_frame(runner)
        assert runner.read("y").shape == (1, 6, 4, 4)


@pytest.mark.gl
def test_a_refused_size_leaves_the_runner_as_it_was(
    dynamic: Build, context: HeadlessContext
) -> None:
    with Runner(dynamic, context) as runner:
        x = np.ones((1, 3, 4, 4), np.float32)
        runner.upload("x", x)
        for sizes in ({"width": 5}, {"height": 0}, {"depth": 1}):
            with pytest.raises(ShadergenError):
                runner.resize(**sizes)
        runner.run()
        np.testing.assert_allclose(runner.read("y"), expected(x)[1])


@pytest.mark.gl
def test_a_size_that_gl_has_no_memory_for_leaves_the_runner_as_it_was(
    dynamic: Build, context: HeadlessContext
) -> None:
    with Runner(dynamic, context) as runner:
        x = np.ones((1, 3, 4, 4), np.float32)
        runner.upload("x", x)
        resources = runner._resources
        assert resources
        errors = iter([0, 0x0505, 0])
        inner = resources._gl
        resources._gl = Tracer(inner, glGetError=lambda: next(errors, 0))
        with pytest.raises(ShadergenError) as caught:
            runner.resize(height=64)
        assert caught.value.code == "SG0604"
        resources._gl = inner
        runner.run()
        runner.check()
        np.testing.assert_allclose(runner.read("y"), expected(x)[1])
        check_a_frame(runner)
        runner.resize(height=64)
        check_a_frame(runner)


@pytest.mark.gl
def test_more_than_the_gl_offers_is_refused_by_its_limit(
    dynamic: Build, context: HeadlessContext
) -> None:
    with Runner(dynamic, context) as runner:
        resources = runner._resources
        assert resources
        resources.device.limits["texture_size"] = 64  # type: ignore[index]
        with pytest.raises(ShadergenError) as caught:
            runner.resize(height=33)
        assert caught.value.code == "SG0602"
        check_a_frame(runner)


@pytest.mark.gl
def test_textures_of_the_application_are_let_go(dynamic: Build, context: HeadlessContext) -> None:
    with Runner(dynamic, context) as runner:
        texture = make_texture(runner._gl, 4, 3, layers=1)
        runner.bind_output("y", texture)
        runner.resize(height=8)
        assert runner.output_texture("y") != texture
        with pytest.raises(ShadergenError) as caught:
            runner.run()
        assert "has no texture" in caught.value.what
        check_a_frame(runner)
