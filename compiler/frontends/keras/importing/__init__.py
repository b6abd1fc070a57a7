"""The walk over the calls of layers that builds the graph.

``importer`` is the walk, ``layer_calls`` applies one layer or operation to the arguments of a call,
``cut`` keeps the part of the model that was asked for.
"""
