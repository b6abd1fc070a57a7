"""Frontends: a model file in, a graph in the IR's own terms out."""

from __future__ import annotations

from .load import load, load_proto
from .request import Request, ValueNeededError

__all__ = ["Request", "ValueNeededError", "load", "load_proto"]
