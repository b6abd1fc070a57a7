"""Placement: what a graph is compiled for, and where its tensors and kernels go.

The modules here say what a target offers and what a placed graph looks like; the passes of the
second half (:mod:`..pipeline`) decide by them.
"""
