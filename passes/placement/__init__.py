"""Placement: the target of a compilation, and the layout of tensors.

The modules describe targets and placed graphs; the second half of the passes (:mod:`..pipeline`)
uses them.
"""
