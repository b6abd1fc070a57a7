"""The command line, ``shadergen``: a file for each kind of command.

Everything heavy is imported inside the commands, so ``--help`` is quick.
"""

from __future__ import annotations

from .entry import cli, main

__all__ = ["cli", "main"]
