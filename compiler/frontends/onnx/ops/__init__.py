"""ONNX operators in terms of the IR: one file for each family of handlers.

``table`` lists the handlers by domain and name, ``node`` is what a handler works with,
``versions`` rewrites nodes of old operator sets, ``pytorch_names`` finds operators by PyTorch's
names. ``microsoft``, ``qonnx``, ``machine_learning``, ``gradient`` and ``retired`` hold operators
of other domains and of the past.
"""
