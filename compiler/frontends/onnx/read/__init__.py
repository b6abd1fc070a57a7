"""From the file to a checked model.

``model`` parses the file and keeps its tables, ``message_sizes`` bounds the memory of that
beforehand, ``graph_body`` checks that names and nodes fit together, ``weights`` decodes tensors.
``types`` has the element types, ``narrow_types`` those of few bits: float8, int4 and the like.
"""
