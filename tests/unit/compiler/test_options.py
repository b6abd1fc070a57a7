"""Options as texts and as Python arguments; what a compilation looks like when it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import ESPCN

from shadergen import compile_model
from shadergen.compiler.keyword_texts import keyword_text
from shadergen.compiler.keywords import make_options
from shadergen.compiler.option_parsing import parse_sizes
from shadergen.compiler.options import DEFAULT_RANGE, Options
from shadergen.errors import ShadergenError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["image=16x24,mask=1x16x24x1"], {"image": (16, 24), "mask": (1, 16, 24, 1)}),
        (["a=1x2, b=3x4", "c=5x6"], {"a": (1, 2), "b": (3, 4), "c": (5, 6)}),
        (["a,b=1x2"], {"a,b": (1, 2)}),
        (['"a=1,b"=1x2,c=3x4'], {"a=1,b": (1, 2), "c": (3, 4)}),
    ],
)
def test_sizes_may_be_listed_with_commas(texts: list[str], sizes: dict[str, tuple[int]]) -> None:
    assert parse_sizes(texts) == sizes


@pytest.mark.parametrize("text", ["360,640", "16x16,8x8", "a=16x16,8", "a=16x16,b="])
def test_a_list_that_is_not_of_names_and_sizes_is_no_size(text: str) -> None:
    with pytest.raises(ShadergenError, match="is not a size"):
        parse_sizes([text])


def test_one_size_twice_in_a_list_is_refused() -> None:
    with pytest.raises(ShadergenError, match="--input-size gives 'a' twice"):
        parse_sizes(["a=1x2,a=1x2"])


def test_python_takes_texts_as_the_command_line_does() -> None:
    assert make_options(outputs="cat").outputs == ("cat",)
    assert make_options(outputs="cat, up").outputs == ("cat", "up")
    assert make_options(outputs=["cat", "a,b"]).outputs == ("cat", "a,b")
    assert make_options(input_range="0:255").input_range == (0.0, 255.0)
    options = make_options(inputs="a=1x2x3,b", input_size="16x24")
    assert (options.inputs, options.input_size) == (("a", "b"), {"": (16, 24), "a": (1, 2, 3)})
    assert make_options() == Options()


def test_without_a_stated_range_the_compiler_relies_on_the_default() -> None:
    assert Options().input_range is None
    assert Options().target().input_range == DEFAULT_RANGE
    assert Options(input_range=(0.0, 1.0)).target().input_range == (0.0, 1.0)


def test_the_earlier_name_of_an_option_is_taken_with_a_note(tmp_path: Path, shadergen: Any) -> None:
    with pytest.warns(DeprecationWarning, match="pairs is now called fuse_separable"):
        assert make_options(pairs="on") == make_options(fuse_separable="on")
    model, build = ("--input-size", "16x24", ESPCN), ("-o", tmp_path / "build")
    ran = shadergen("compile", *model, *build, "--pairs", "off", "--explain")
    assert ran.code == 0
    assert "note: --pairs is now called --fuse-separable" in ran.err
    assert "--pairs" not in shadergen("compile", "--help").out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"glsl": 310}, "--glsl 310"),
        ({"fetch": "image"}, "--fetch image"),
        ({"embed": "c"}, "--embed c needs OpenGL ES"),
        ({"input_external": True}, "--input-external needs OpenGL ES"),
    ],
)
def test_options_of_opengl_es_are_refused_for_webgpu(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ShadergenError, match=says) as error:
        Options(device="webgpu", **options).target()
    assert error.value.code == "SG0301"
    assert "--device webgpu is WebGPU" in error.value.render()


def test_a_target_names_its_language() -> None:
    assert Options(device="webgpu").target().language == "WGSL"
    assert Options(device="gles31-min").target().language == "GLSL ES 310"
    assert not Options(device="webgpu").target().lacks_compute


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("give the size with --input-size x=HxW, or", 'give the size with input_size="x=HxW", or'),
        ("make sizes dynamic: --input-size dynamic", 'make sizes dynamic: input_size="dynamic"'),
        ("--input-size names 'a', no input", "input_size names 'a', no input"),
        ("fix it with --input-value s=1,3,8.", 'fix it with input_value={"s": [1, 3, 8]}.'),
        ("use --mrt 1, or --stage compute", 'use mrt=1, or stage="compute"'),
        ("add --foreign-tuning (--outputs A,B)", 'add foreign_tuning=True (outputs="A,B")'),
        ("run: shadergen ops --input-size 3x3", "run: shadergen ops --input-size 3x3"),
        ("omit --tile", "omit --tile"),
        ("cut with --outputs gt, and run", 'cut with outputs="gt", and run'),
        ("give --inputs and --outputs; or", "give inputs and outputs; or"),
    ],
)
def test_messages_for_python_name_keywords(text: str, says: str) -> None:
    assert keyword_text(text) == says


def test_errors_of_compile_model_name_keywords() -> None:
    with pytest.raises(ShadergenError) as error:
        compile_model(ESPCN, input_size={"unknown": (8, 8)})
    assert error.value.what == "input_size names 'unknown', which is not an input"
