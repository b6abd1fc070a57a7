"""``make gpu``: checks and measurements on the GPU at hand, within ten minutes, without a window.

Data flow, in the order of the modules:

- :mod:`.command` runs the stages of :mod:`.stages` one after the other and divides the time.
- :mod:`.isolation` runs a stage in a process of its own, with a deadline. The stage writes a
  *record*, a line of JSON, after each job, so a stage that crashes or hangs loses only what it had
  not measured yet.
- :mod:`.jobs` runs the jobs of a stage in processes of their own, too: a crash of the driver costs
  one job.
- The stages, each with its records, their summary, and its section of the page:
  :mod:`.device_stage` (what EGL offers), :mod:`.model_stage` (makes the networks),
  :mod:`.conformance_stage`, :mod:`.network_stage` (errors), :mod:`.frame_stage` (times by device
  profile), :mod:`.prediction_stage` (``tune``), :mod:`.peer_stage` (other programs).
- :mod:`.setting` is what all stages share, :mod:`.samples` the networks and the cases.
- :mod:`.results` keeps the summaries of every GPU, :mod:`.report` makes the page of them.

It reuses ``bench/comparison`` (other programs, turns), ``tests/conformance``, ``tests/networks``,
``compiler/benchmark`` (times of frames and passes) and ``compiler/tuning``.

Rejected: pytest with the GL tests forced onto the GPU. It covers more, but takes half an hour,
measures nothing, and a crash of the driver ends it. Rejected: stages as threads or functions of
one process. A hang inside a driver cannot be interrupted from within its process.
"""
