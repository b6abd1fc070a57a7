"""The operator Gradient of ai.onnx.preview.training, as a graph that computes the derivatives.

``operator`` imports a node, ``reverse`` differentiates graphs, ``derivatives`` formulas. No other
part of the compiler needs derivatives. To remove the operator, delete

- this folder and tests/frontends/onnx/test_gradient.py,
- the import of ``gradient`` and the entry of ``TRAINING`` in ``ops/table.py``,
- the ``if`` with ``TRAINING`` in ``read_by`` of ``read/graph_body.py``,
- the paragraph in docs/supported.md.
"""
