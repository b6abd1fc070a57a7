"""What the first stage of ``make gpu`` records of a GPU."""

DISPLAY = {
    "display": "by default",
    "platform": "device 0",
    "egl": "NVIDIA, 1.5",
    "renderer": "NVIDIA H200/PCIe/SSE2",
    "vendor": "NVIDIA Corporation",
    "version": "OpenGL ES 3.2 NVIDIA 570.1",
    "software": False,
    "queries": True,
    "profile": "nvidia",
}
