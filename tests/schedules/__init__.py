"""The builds that every runtime is tested with: good ones, and malformed ones made of them.

    PYTHONPATH=tests python -m schedules FOLDER    write them; tests write their own

good/ exercises all of format 5.7 that a small build of fixed sizes can and every OpenGL ES 3.1 must
offer, good_dynamic/ has dynamic sizes, good_external/ takes the frame of a camera,
good_variants/ has variants; what they compute is stated in the functions of their
names. Each folder of malformed/ is a build with one fault (faults.py), and malformed/expected.json
has the error code of each. Their schedules hold a checksum: that of the build without the fault.
Each folder of malformed_variants/ has a fault in a variant, found when it is picked (variants.py).
"""
