"""Tuning: measuring on an adapter what choices take, and the file that keeps it.

:mod:`.session` goes through a model's nodes, :mod:`.isolation` makes a build of one node,
:mod:`.trials` runs the candidates in turns, :mod:`.file` is what stays. See docs/tuning.md.
"""
