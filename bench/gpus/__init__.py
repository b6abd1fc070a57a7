"""``make gpus``: what real GPU compilers make of the benchmark's networks, without a GPU.

Mesa's drivers run on a stub in place of the operating system's GPU driver (drm-shim; for AMD,
RADV's null device). They compile a build's shaders to machine code and print statistics:
instructions or cycles, registers, spills, code size. Nothing is executed. ``setup.sh`` installs
the drivers.

Data flow, in the order of the modules:

- :mod:`.table` lists the GPUs: how a driver is started and how its statistics count as cycles.
- :mod:`.shaders` is a shader with all that a driver must know, :mod:`.builds` reads those of a
  build.
- :mod:`.loops` finds the loops of a shader and makes variants without them.
- :mod:`.gl_worker` and :mod:`.vulkan_worker` compile shaders inside a driver's process,
  :mod:`.drivers` starts them, survives crashes, and keeps all answers in ``.build``.
- :mod:`.messages` takes a driver's messages apart.
- :mod:`.counts` makes cycles of them, loops counted as often as they run. ``measure`` there is
  what other tools call.
- :mod:`.networks` compiles the networks, :mod:`.results` holds the figures and their JSON,
  :mod:`.report` and :mod:`.chart` the page.
- :mod:`.user_shaders` counts user shaders for video players, beside hand-written ones.
- :mod:`.dialects` compares WGSL, by way of :mod:`.naga`, with GLSL ES.
- :mod:`.fit` fits costs of families to counts; :mod:`.estimates` compares ``inspect --device`` with
  the page.

A cycle is the time of one 32-bit multiply-add on one lane. So a network's multiply-adds are the
cycles of a perfect compiler, the *multiply-add bound*, on every GPU. A compiler that drops
multiply-adds by weights of 0 can take fewer.

Static counts know nothing of caches, bandwidth and latency. Vendors' own compilers differ, too:
multiply-adds and registers are likely similar, schedules and exact spills are not.

Rejected: vendors' offline compilers (Mali Offline Compiler, AMD's RGA). They need registration or
a download by hand, so not everyone could repeat the page.
"""
