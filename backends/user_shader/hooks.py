"""Where a network goes in the player's picture, and when it runs there.

The stages are mpv's (its manual, "Shader hooks"); libplacebo has the same. RGB is a video's own RGB
planes: a picture that the player has converted to RGB is MAIN.
"""

from __future__ import annotations

from ...errors import ShadergenError, count, did_you_mean
from ...records import dataclass

HOOKED = "HOOKED"  # the player's name of the picture at the stage
CHROMA = 2  # channels
LUMA_SCALE = 2  # times chroma's height and width, in 4:2:0 video
UPSCALE_FROM = 1.2  # times larger, from where on an upscaler pays


@dataclass(frozen=True)
class Stage:
    """A stage of the player's picture.

    Attributes:
        channels: that the network sees there.
        resizable: whether a shader may change the picture's size.
        note: what to know before choosing it.
    """

    channels: int
    resizable: bool = True
    note: str = ""


STAGES: dict[str, Stage] = {
    "LUMA": Stage(1),
    "CHROMA": Stage(2),
    "RGB": Stage(3, note="the network runs only on videos stored as RGB; for others, use MAIN"),
    "NATIVE": Stage(3, note="in most videos, the network sees Y, Cb and Cr; to see RGB, use MAIN"),
    "MAINPRESUB": Stage(3),
    "MAIN": Stage(3),
    "LINEAR": Stage(3, resizable=False),
    "SIGMOID": Stage(3, resizable=False),
    "PREKERNEL": Stage(3, resizable=False),
    "POSTKERNEL": Stage(3, resizable=False),
    "SCALED": Stage(3, resizable=False),
    "OUTPUT": Stage(3, resizable=False),
}
DEFAULTS = {1: "LUMA", 2: "CHROMA", 3: "MAIN"}  # by the picture's channels


def full_hd(channels: int) -> tuple[int, int]:
    """Return height and width of a 1080p video's picture of so many channels, in 4:2:0."""
    scale = LUMA_SCALE if channels == CHROMA else 1
    return 1080 // scale, 1920 // scale


def chosen_hook(channels: int, wanted: str | None) -> str:
    """Return the stage of a network whose picture has so many channels.

    Args:
        channels: of input and output.
        wanted: the user's choice, if any.

    Raises:
        ShadergenError: SG0405 when no stage has so many channels, SG0301 for a wrong choice.
    """
    if channels not in DEFAULTS:
        supported = "1 channel (luma), 2 (chroma) or 3 (RGB)"
        raise ShadergenError(
            "SG0405",
            f"a network of {count(channels, 'channel')} cannot be a user shader",
            supported=supported,
        )
    hook = wanted or DEFAULTS[channels]
    fitting = [name for name, stage in STAGES.items() if stage.channels == channels]
    if hook not in fitting:
        known = STAGES.get(hook)
        why = (
            f"{hook} has {count(known.channels, 'channel')}, the network has {channels}"
            if known
            else ""
        )
        raise ShadergenError(
            "SG0301",
            f"--hook {hook} is not supported",
            why=why,
            supported=", ".join(fitting),
            help="" if known else did_you_mean(hook, STAGES),
        )
    return hook
