"""From the file to layers, the calls that connect them, and weights.

``archive`` opens a file, by ``hdf5`` and ``zip_members``; ``hdf5_chunks`` and ``hdf5_filters``
unpack data sets. ``model`` reads layers from the configuration, ``inbound_nodes`` their calls,
``config`` the entries of one layer with types checked; ``built_in_layers`` are those that Keras
itself has. ``weights`` finds a layer's weights in the file.
"""
