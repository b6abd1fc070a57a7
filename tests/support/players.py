"""Players of user shaders: FFmpeg's libplacebo filter on Vulkan, and mpv in a window in memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

PATIENCE = 120  # seconds
BT709 = ("-color_range", "tv", "-colorspace", "bt709")  # of a video, for FFmpeg
# On software Vulkan of Mesa 22.3, gpu-next of mpv 0.35 crashes now and then; FFmpeg waits forever
# for a transfer that has ended (in 1 of 2,400 runs), or makes no device.
CRASH, NO_DEVICE = b"Segmentation fault", b"Device creation failed"
ATTEMPTS = 3
# When the last picture has been shown, do what the test wants, save what the window shows, and end.
CAPTURE = """
function capture()
    mp.commandv("screenshot-to-file", os.getenv("CAPTURED"), "window")
    mp.commandv("quit")
end
mp.register_event("playback-restart", function()
    if mp.get_property("filename") == "before.png" then
        mp.add_timeout(0.3, function() mp.commandv("playlist-next") end)
        return
    end
    mp.add_timeout(0.3, function()
        %s
        mp.add_timeout(0.3, capture)
    end)
end)
"""
# Outputs of mpv by name. ES is not among gpu-next's: it captures no window there.
MPV = {
    "gpu, OpenGL": ("--vo=gpu", "--gpu-api=opengl"),
    "gpu, OpenGL ES": ("--vo=gpu", "--gpu-api=opengl", "--opengl-es=yes"),
    "gpu, Vulkan": ("--vo=gpu", "--gpu-api=vulkan"),
    "gpu-next, OpenGL": ("--vo=gpu-next", "--gpu-api=opengl"),
    "gpu-next, Vulkan": ("--vo=gpu-next", "--gpu-api=vulkan"),
}


def through_ffmpeg(
    shader: Path,
    frame: np.ndarray,
    size: tuple[int, int],
    pixels: str,
    scale: float = 1,
    shown: str = "",
    source: tuple[str, ...] = (),
) -> np.ndarray:
    """Return the components of a frame, one after another, after FFmpeg's libplacebo filter.

    Args:
        shader: the file.
        frame: its components in FFmpeg's order, of 8 or 16 bits.
        size: its height and width.
        pixels: FFmpeg's name of its format.
        scale: of the filter's output.
        shown: FFmpeg's name of the result's format, where it is another.
        source: what else FFmpeg is told of the frame.
    """
    require("ffmpeg")
    if "libplacebo" not in filters():
        pytest.skip("this FFmpeg has no libplacebo filter")
    height, width = (round(side * scale) for side in size)
    steps = (
        f"hwupload,libplacebo=custom_shader_path={shader.name}:w={width}:h={height}:"
        f"dithering=-1:format={shown or pixels},hwdownload,format={shown or pixels}"
    )
    source = (
        *source,
        "-f",
        "rawvideo",
        "-pix_fmt",
        pixels,
        "-s",
        f"{size[1]}x{size[0]}",
        "-i",
        "-",
    )
    device = ("-init_hw_device", "vulkan=v:0", "-filter_hw_device", "v")
    run = play(
        ["ffmpeg", "-v", "error", *device, *source, "-vf", steps, "-f", "rawvideo", "-"],
        input=frame.tobytes(),
        cwd=shader.parent,  # the path in a filter's options needs no escapes
    )
    if run.returncode and NO_DEVICE in run.stderr:
        pytest.skip("FFmpeg finds no Vulkan device")
    said = run.stderr.decode()
    assert not run.returncode, said
    assert not said, said  # why a shader is refused: the frame passes as it was
    return np.frombuffer(run.stdout, frame.dtype)


def through_mpv(
    shader: Path,
    picture: np.ndarray | Path,
    output: str,
    size: tuple[int, int],
    *options: str,
    before: np.ndarray | None = None,
    then: str = "",
) -> np.ndarray:
    """Return what mpv's window shows of a picture, height x width x 3.

    Args:
        shader: the file.
        picture: height x width, or height x width x 3, of 8 bits; or a video.
        output: a key of ``MPV``.
        size: height and width of the window.
        options: further ones of mpv.
        before: a picture that it shows first.
        then: what its script does while the picture is shown, in Lua.
    """
    require("mpv")
    require("xvfb-run")
    options = (*MPV[output], *options)
    if "--gpu-api=vulkan" in options:
        options = (*options, f"--vulkan-device={vulkan_device()}", "--gpu-context=x11vk")
    else:
        options = (*options, "--gpu-context=x11egl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = [picture if isinstance(picture, Path) else folder / "picture.png"]
        if not isinstance(picture, Path):
            Image.fromarray(picture).save(shown[0])
        if before is not None:
            shown.insert(0, folder / "before.png")
            Image.fromarray(before).save(shown[0])
        (folder / "capture.lua").write_text(CAPTURE % then)
        captured = folder / "captured.png"
        display = str(100 + os.getpid() % 500)  # where the search begins: tests run in parallel
        command = [
            *("xvfb-run", "-a", "-n", display, "-s", "-screen 0 640x480x24", "mpv", "--no-config"),
            *("--no-audio", "--pause", "--keep-open=yes", "--image-display-duration=inf"),
            *("--osc=no", "--osd-level=0", "--no-border", "--dither-depth=no", "--gpu-sw=yes"),
            f"--geometry={size[1]}x{size[0]}",
            f"--script={folder / 'capture.lua'}",
            f"--glsl-shaders={shader}",
            *options,
            *map(str, shown),
        ]
        environment = {**os.environ, "CAPTURED": str(captured), "XDG_RUNTIME_DIR": name}
        run = play(command, env=environment)
        said = (run.stdout + run.stderr).decode()
        assert captured.exists(), said
        assert "error" not in said.lower(), said
        return np.array(Image.open(captured).convert("RGB"))


def play(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Return how a player ended, after further attempts where software Vulkan let it down.

    Args:
        command: the player's.
        options: of ``subprocess.run``.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(subprocess.TimeoutExpired):
            run = subprocess.run(
                command, capture_output=True, timeout=PATIENCE, check=False, **options
            )
            said = run.stdout + run.stderr
            if not run.returncode or (CRASH not in said and NO_DEVICE not in said):
                return run
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, **options)


def video(
    frame: bytes,
    size: tuple[int, int],
    pixels: str,
    location: str,
    folder: Path,
    colours: tuple[str, ...] = BT709,
) -> Path:
    """Return a video of one frame, lossless.

    Args:
        frame: its components.
        size: its height and width.
        pixels: FFmpeg's name of its format.
        location: FFmpeg's name of where its chroma lies.
        folder: where to write it.
        colours: what FFmpeg is told of its colours.
    """
    require("ffmpeg")
    path = folder / "video.mkv"
    source = ("-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{size[1]}x{size[0]}", "-i", "-")
    stated = (*colours, "-chroma_sample_location", location)
    command = ["ffmpeg", "-v", "error", *source, "-c:v", "ffv1", *stated, str(path)]
    subprocess.run(command, input=frame, check=True)
    return path


def require(program: str) -> None:
    """Skip a test where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


@cache
def filters() -> str:
    return subprocess.run(
        ["ffmpeg", "-hide_banner", "-filters"], capture_output=True, text=True, check=True
    ).stdout


@cache
def vulkan_device() -> str:
    """Return the first device that mpv lists; software must be named. Skip without one."""
    listed = subprocess.run(
        ["mpv", "--no-config", "--vulkan-device=help"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"'(.+)' \(GPU", listed)
    if found is None:
        pytest.skip("mpv finds no Vulkan device")
    return found[1]
