"""Make the pictures of the READMEs from the networks.

python examples/networks/training/pictures.py    # needs [dev]; writes denoise.png and text.png
"""

import numpy as np
import skimage.data
from measure import NETWORKS, network, rounded
from patches import with_jpeg, with_noise
from photographs import held_out
from PIL import Image

from shadergen.compiler.pictures.side_by_side import details


def denoise() -> None:
    clean = network(NETWORKS / "denoise" / "denoise.onnx")
    rng = np.random.default_rng(0)
    rows = []
    for name, box, damage in (
        ("astronaut", (146, 60, 306, 180), lambda p: with_noise(p, 20, rng)),
        ("chelsea", (120, 60, 280, 180), lambda p: with_jpeg(p, 30)),
    ):
        original = held_out()[name]
        damaged = damage(original)
        images = {
            "damaged": damaged,
            "denoise": rounded(clean(damaged)).astype(np.uint8),
            "original": original,
        }
        shown = {label: Image.fromarray(image) for label, image in images.items()}
        rows.append(np.asarray(details(shown, box, 3)))
    Image.fromarray(np.concatenate(rows)).save(NETWORKS / "denoise" / "denoise.png")


def text() -> None:
    find = network(NETWORKS / "text" / "text.onnx")
    picture = np.asarray(Image.fromarray(skimage.data.page()).convert("RGB"))
    probability = find(picture)[..., None] / 255
    marked = picture * (0.35 + 0.65 * probability) + probability * (0, 40, 0)
    images = {"picture": picture, "text": rounded(marked).astype(np.uint8)}
    height, width = picture.shape[:2]
    shown = {label: Image.fromarray(image) for label, image in images.items()}
    details(shown, (0, 0, width, height), 2).save(NETWORKS / "text" / "text.png")


if __name__ == "__main__":
    denoise()
    text()
