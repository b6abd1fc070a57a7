"""Whole networks from the literature, made anew with seeded weights, and what to expect of them.

:mod:`.catalogue` names them and says in which forms and sizes each is tried, :mod:`.cache` has
their files made, and :mod:`.runner` compiles, plays and compares one. Nothing here imports torch,
Keras or TensorFlow before a network that needs it is built.
"""
