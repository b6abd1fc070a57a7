"""A fuzzer: random models, compiled with random options, against onnxruntime and Keras.

make fuzz                                        5,000 models
make fuzz ARGS="--minutes 10 --jobs 1 --seed 3"  as many as go into ten minutes, of another seed
make fuzz ARGS="--only keras --graphs 200"       of one kind
make fuzz ARGS="--index 1234"                    one model again
make fuzz ARGS="--replay fuzz-findings/1-1234"   a finding again, as it was saved

Where models come from. ``operators`` is a table of functions that each add an operator to a graph,
written from the operators' specifications: attributes over their whole range, operands of any
shape that fits. ``net`` runs every node on onnxruntime as it is added: a graph is valid since each
part was computed, ranges are known, and numbers are kept moderate. Whether something is an
attribute or an operand in the graph's operator set is what the schema says. ``graphs`` joins this
to models of 1 to 20 entries. A quarter of the entries are short chains that the compiler's passes
rewrite (``ops_chains``, ``layers_chains``): faults there need operators beside one another.

What is done with them. ``configurations`` draws a device profile and options that it can have.
``judging`` compiles a model (some by way of the file and ``compile_model``), plays the build on
OpenGL ES, with dynamic sizes at three sizes, and compares with an oracle (``oracles``).

What comes of it is one of:

- right: within 1e-4 of the largest number, or 1e-2 where 16 bits are asked for.
- refused: a ShadergenError. Where the options are refused, the model is tried without them.
- inconclusive: a difference that rounding errors explain. The reference runs again with noise
  behind every node that rounds; an element that is off by more than this moves it is wrong.
- wrong; crash: any other exception, also from loading or playing what was compiled; hang.

Choices come from numpy's generator, seeded by the seed and the model's number, so one number
repeats a model. Hypothesis was considered: its shrinking runs within the process, which a crash
would end, and reduces the choices made, where here the model itself can be cut (``shrink``): of a
graph of twenty nodes one is left, with the values that it had. Jobs run in other processes with
limits of time and memory (``workers``).
"""
