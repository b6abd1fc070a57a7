"""The Python runtime: play a build on a real OpenGL ES context, with or without a screen.

>>> with HeadlessContext() as context, Player(load("build"), context) as player:
...     player.upload("img", image)
...     player.run()
...     result = player.read("out")

:func:`load` reads and checks a build without touching GL; :class:`Player` makes its GL objects once
and then only binds and draws. An application with a context of its own passes ``None`` for the
context and gives its textures to :meth:`Player.bind_input` and :meth:`Player.bind_output`.
"""

from __future__ import annotations

from .context import HeadlessContext
from .loading import load, resized
from .player import Player
from .schedule import Build

__all__ = ["Build", "HeadlessContext", "Player", "load", "resized"]
