"""The walk over the nodes that builds the graph.

``importer`` is the walk, ``scope`` what names stand for in a graph or function, ``functions``
carries out operators that stand for other nodes. Before it, ``cut`` keeps the part of the model
that was asked for, ``image_axes`` finds the height and width of inputs, ``fixed_inputs`` reads the
values given to inputs; ``parameter_inputs`` finds inputs that need one.
"""
