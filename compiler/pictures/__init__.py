"""Pictures as network inputs and outputs.

``picture``   pixels with their alpha and metadata; arrays in the model's own shape
``reading``   files and Pillow images to pictures; ``deep`` those of 16 bits
``writing``   pictures to files, row by row where the format allows; ``png`` such files
``tiles``     how a picture is cut into tiles that overlap, and joined again
``network``   a build as a function of a picture of any size
``kinds``     what an output is: a picture, classes of pixels, a map, classes of the picture, boxes
``detections`` networks that give boxes and scores
``drawing``   results that are no pictures, as pictures
``video``     a build as a function of a video
"""

from __future__ import annotations
