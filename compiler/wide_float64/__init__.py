"""Arrays of float64 beyond the range of float32, for the ONNX backend.

Such an array is the sum of scaled parts within the range (``parts``). Models that are linear up to
a constant run on each part, and the scaled results are added (``run``). ``linear_part`` finds the
graph for the further parts, or refuses the model. Builds are not concerned. To remove it, delete

- this folder and tests/execution/test_wide_float64.py,
- in compiler/onnx_backend.py: ``_run_wide``, the lines with ``wide`` or ``Wide``, and ``change`` of
  ``_try``,
- the paragraphs in docs/decisions.md and in the text of tests/conformance/scoreboard.py.
"""
