"""Shapes of what a model takes.

``inputs`` reads those of its own inputs, ``cut_inputs`` finds those of results that ``--inputs``
makes inputs.
"""
