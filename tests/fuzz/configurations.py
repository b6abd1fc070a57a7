"""Options to compile with: every profile, stage, storage and precision that GL here can play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shadergen.backends.devices import DEVICES

from .draw import Draw

USUAL = 0.55  # of the options that a configuration leaves as they are
FEW_LAYERS = Path(__file__).with_name("few_layers.json")  # most models have maps of more planes
FEW_LAYERS_OF = "gles31-mobile"  # whose limits it has but for the layers of an array texture


def configuration(draw: Draw) -> dict[str, Any]:
    """Return options, most of which a model of any kind can be compiled with."""
    found: dict[str, Any] = {"device": draw.one(*DEVICES)}
    device = DEVICES[found["device"]]
    if draw.chance(0.08):
        found["device"], device = str(FEW_LAYERS), DEVICES[FEW_LAYERS_OF]
    compute = device.limits.workgroup_invocations > 0
    fragment_images = device.limits.fragment_images > 0

    def choose(name: str, *values: Any) -> None:
        if not draw.chance(USUAL):
            found[name] = draw.one(*values)

    choose("stage", *(("fragment", "compute", "compute") if compute else ("fragment",)))
    stores = ["constants", "texture", "ubo"]
    images = compute and (fragment_images or found.get("stage") == "compute")
    if compute and (device.limits.storage_blocks or found.get("stage") == "compute"):
        stores.append("ssbo")
    choose("weights", *stores)
    if found.get("weights") == "texture" and draw.chance(0.4):
        found["weight_format"] = draw.one("float16", "int8")
    choose("fetch", "texel", "sample", *(("image", "image-zero") if images else ()))
    draws = not compute or found.get("stage") == "fragment"
    choose("textures", "2d", "array", *(("stacked", "stacked") if draws else ()))
    stacked = found.get("textures") == "stacked"
    tiles = () if stacked else ("2x2", "4x4") if compute else ("2x2",)
    choose("winograd", "off", *tiles)
    choose("fuse_separable", "off", *(("on",) if compute else ()))
    choose("parameters", "ubo")
    if not stacked:
        choose("mrt", 1, 2, device.limits.draw_buffers)
    if draw.chance(0.25) and found.get("weight_format") != "int8":
        found["precision"] = draw.one("mediump", "fp16", "auto")
    if draw.chance(0.04):
        found["output_encoding"] = "unorm8"
    return found
