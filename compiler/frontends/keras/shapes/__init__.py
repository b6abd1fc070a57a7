"""Shapes of a model's inputs.

``inputs`` reads those of its own inputs, ``cut_inputs`` finds those of results that ``--inputs``
makes inputs.
"""
