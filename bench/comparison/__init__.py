"""``make bench``: this project against what people would use instead, in one run.

Data flow, in the order of the modules:

- :mod:`.networks` makes or fetches the model files, each with an input and its right output.
- :mod:`.contenders` has a small file for each program that can run them. This project stands there
  once for each way to compile.
- :mod:`.worker` puts a contender on a network into a process of its own.
- :mod:`.turns` has it convert and start, checks its first output, and asks for frames in turns.
- :mod:`.shares` holds layers of this project's builds against what the device could do at most.
- :mod:`.load` tells how much of the machine other programs took meanwhile.
- :mod:`.results` are the figures and their ratios, :mod:`.bars` what is asked of them,
  :mod:`.report` the tables and the JSON.
- :mod:`.runs` keeps the ratios of every run, whose smallest count, :mod:`.picture` draws them.

What is timed: a *frame* goes from an input in memory to an output in memory, for every contender:
upload, computing, download. This is the only thing that all of them can do, since ncnn's Python
bindings have no tensors on the device. A *resident* frame leaves out both copies; this project is
also timed so, which is what an application sees whose textures are on the GPU anyway.

Two clocks: the wall's, and that of the processors for the contender's process. Between programs
that compute on the processor the second one hardly depends on what else runs, but it does not show
whether threads keep each other waiting. The wall's counts, unless other programs took more than a
fifth of the machine.

Rejected: timing each contender alone, one after the other. Less code, and on a machine that is
shared the ratios would be of its moods. Rejected too: all contenders in one process, as
``shadergen bench`` does with builds. Two drivers of Mesa and three thread pools in one address
space make memory and processor time nobody's own, and one that crashes ends all.
"""
