"""Placement: the target of a compilation, and the layout of tensors.

The modules here say what a target offers and what a placed graph looks like; the passes of the
second half (:mod:`..pipeline`) decide by them.
"""
