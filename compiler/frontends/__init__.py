"""Frontends: a model file in, a graph in the IR's own terms out."""

from __future__ import annotations

from .base import Request, load

__all__ = ["Request", "load"]
