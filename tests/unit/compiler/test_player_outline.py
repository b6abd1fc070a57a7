"""What a user shader does to a picture, read from its text."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper
from support import refusal

from shadergen.compiler.player.outline import outline, refuse_user_shader
from shadergen.errors import ShadergenError

BODY = "//!BIND HOOKED\nvec4 hook() { return vec4(0.5); }\n"


def shader(*headers: str, hook: str = "LUMA") -> str:
    return "".join(f"//!HOOK {hook}\n{header}\n{BODY}" for header in headers)


def refused(text: str, size: tuple[int, int] = (37, 61)) -> str:
    with pytest.raises(ShadergenError) as caught:
        outline(text, size)
    assert caught.value.code == "SG0605"
    return caught.value.render()


def test_the_output_is_as_large_as_the_shader_makes_the_picture():
    double = "//!WIDTH HOOKED.w 2 *\n//!HEIGHT HOOKED.h 2 *\n//!WHEN OUTPUT.w HOOKED.w 1.2 * >"
    found = outline(shader(double, double), (36, 60))
    assert (found.size, found.passes, found.all_passes) == ((144, 240), 2, 2)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("HOOKED.w 2 % 0 =", "HOOKED.w % 2 = 0 (HOOKED.w is 61)"),
        ("HOOKED.w 60 > HOOKED.h 2 % 0 = *", "HOOKED.h % 2 = 0 (HOOKED.h is 37)"),
        ("LUMA.w HOOKED.h 2 * =", "LUMA.w = HOOKED.h * 2 (LUMA.w is 61, HOOKED.h is 37)"),
        ("OUTPUT.w HOOKED.w 1.2 * >", "OUTPUT.w > HOOKED.w * 1.2 (OUTPUT.w is 61, HOOKED.w"),
        ("HOOKED.w 61 = !", "not (HOOKED.w = 61) (HOOKED.w is 61)"),
        ("0", "false: 0"),
    ],
)
def test_a_false_condition_is_named_with_its_sizes(when, why):
    said = refused(shader(f"//!WHEN {when}"))
    assert "the user shader does not run for a picture of 37x61" in said
    assert why in said


def test_passes_that_do_not_run_are_counted():
    found = outline(shader("", "//!WHEN HOOKED.w 100 >"), (37, 61))
    assert (found.passes, found.all_passes) == (1, 2)
    assert found.notes == (
        "not run: 1 of 2 GPU passes, whose condition (//!WHEN) is false: HOOKED.w > 100 "
        "(HOOKED.w is 61)",
    )


def test_a_stage_that_exists_only_where_the_player_scales_is_refused():
    assert "exists only where the player scales" in refused(shader("", hook="SCALED"))


def test_at_output_the_picture_has_the_size_that_the_player_shows():
    found = outline(shader("//!WHEN OUTPUT.w 61 =", hook="OUTPUT"), (37, 61))
    assert (found.size, found.passes) == ((37, 61), 1)


def test_a_model_with_a_line_of_user_shaders_in_a_name_is_no_user_shader(tmp_path):
    name = "a\n//!HOOK MAIN"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in (name, "y"))
    graph = helper.make_graph([helper.make_node("Relu", [name], ["y"])], "g", [x], [y])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    refuse_user_shader(tmp_path / "m.onnx")
    (tmp_path / "m.txt").write_text("// net\n\n//!HOOK MAIN\n")
    assert refusal(lambda: refuse_user_shader(tmp_path / "m.txt")).code == "SG0301"


@pytest.mark.parametrize(("chroma", "runs"), [((2, 2), True), ((1, 2), False), ((1, 1), False)])
def test_conditions_on_chroma_hold_for_the_subsampling_of_the_video(chroma, runs):
    """In 4:2:2 and 4:4:4, luma is not twice as high as chroma."""
    text = "//!HOOK CHROMA\n//!WHEN LUMA.h HOOKED.h 2 * =\n"
    if runs:
        assert outline(text, (36, 60), chroma).passes == 1
        return
    with pytest.raises(ShadergenError, match="does not run") as caught:
        outline(text, (36, 60), chroma)
    assert "HOOKED.h is 36" in caught.value.why
