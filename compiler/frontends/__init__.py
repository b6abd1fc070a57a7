"""Frontends: a model file in, a graph in the IR's own terms out."""

from __future__ import annotations

from .base import Request, ValueNeededError, load, load_proto

__all__ = ["Request", "ValueNeededError", "load", "load_proto"]
