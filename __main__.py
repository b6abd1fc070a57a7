"""``python -m shadergen``."""

from __future__ import annotations

from .compiler.cli import main

main()
