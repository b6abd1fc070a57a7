"""Validation of a user shader by glslang, with declarations as players write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..validate import GLSLANG, find_glslang, validate
from .templates import templates

if TYPE_CHECKING:
    from .file import UserShader

# The oldest and the newest language that players insert a user shader into, and OpenGL ES.
VERSIONS = {"330": "330 core", "450": "450 core", "300es": "300 es"}
COMPUTE_VERSIONS = {"430": "430 core", "450": "450 core", "310es": "310 es"}


def validate_user_shader(shader: UserShader) -> dict[str, bool]:
    """Compile every pass in every language.

    Returns:
        Whether glslang was there, by its name.

    Raises:
        InternalError: when glslang refuses a pass: naming it and the line.
    """
    if find_glslang() is None:
        return {GLSLANG: False}
    template = templates().get_template("user_shader_player.frag.j2")
    sources, layers = {}, {}
    for number, block in enumerate(shader.blocks):
        versions, suffix = (COMPUTE_VERSIONS, "comp") if block.compute else (VERSIONS, "frag")
        for name, version in versions.items():
            path = f"{number:02d}_{name}.{suffix}"
            sources[path] = template.render(version=version, block=block)
            layers[path] = block.description
    return validate(sources, layers)
