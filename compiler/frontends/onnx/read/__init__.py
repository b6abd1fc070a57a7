"""From the file to a checked model.

``model`` parses the file and keeps its tables, ``message_sizes`` bounds the memory of that
beforehand, ``graph_body`` checks that names and nodes fit together, ``weights`` decodes tensors,
``narrow_types`` those of float8, int4 and the like.
"""
