"""``shadergen bench``: what builds take on the GL at hand, and what that GL could do.

``report.run_benchmark`` is the way in: ceilings of the device, then start-up of each build, then
frames of all builds in turns, then transfers. All of it lies here and not in ``runtime_glue``,
which applications ship with: they run builds and measure nothing. What measuring needs of a
runner, ``Runner.wait`` and ``Runner.timings``, is there.
"""
