"""Measure the networks on held-out photographs and print the tables of the READMEs.

python examples/networks/training/measure.py upscale    # needs [dev]
python examples/networks/training/measure.py upscale --with other_x2.onnx
python examples/networks/training/measure.py denoise
python examples/networks/training/measure.py text
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from fonts import fonts
from measures import gradient_deviation, psnr
from patches import Patches, luma, with_jpeg, with_noise
from photographs import held_out
from PIL import Image
from rendering import Renderer
from skimage.restoration import denoise_nl_means

NETWORKS = Path(__file__).resolve().parents[1]
WITH_TEXT = ("astronaut", "coffee", "rocket")  # of the held-out photographs
BORDER = 2  # pixels of the doubled picture at each side

Method = Callable[[np.ndarray], np.ndarray]  # from uint8 to float in 0..255


def network(path: Path) -> Method:
    """Return a network as a function of pictures (H, W) or (H, W, 3)."""
    session = onnxruntime.InferenceSession(str(path))
    (port,) = session.get_inputs()

    def run(picture: np.ndarray) -> np.ndarray:
        planes = picture[None] if picture.ndim == 2 else picture.transpose(2, 0, 1)
        (result,) = session.run(None, {port.name: planes[None].astype(np.float32) / 255})
        out = result[0].transpose(1, 2, 0) * 255
        return out[..., 0] if out.shape[2] == 1 else out

    return run


def rounded(picture: np.ndarray) -> np.ndarray:
    """Return a picture as 8 bits have it."""
    return np.round(picture).clip(0, 255)


def resized(filter_name: str) -> Method:
    """Return the doubling by one of Pillow's filters."""

    def double(low: np.ndarray) -> np.ndarray:
        size = (2 * low.shape[1], 2 * low.shape[0])
        return np.asarray(Image.fromarray(low).resize(size, Image.Resampling[filter_name]))

    return double


def halved(high: np.ndarray) -> np.ndarray:
    """Return luma at half size, by Pillow's antialiased bicubic filter."""
    size = (high.shape[1] // 2, high.shape[0] // 2)
    return np.asarray(Image.fromarray(high).resize(size, Image.Resampling.BICUBIC))


def upscale(others: list[Path]) -> None:
    methods: dict[str, Method] = {"bicubic": resized("BICUBIC"), "lanczos": resized("LANCZOS")}
    methods |= {path.stem: network(path) for path in others}
    methods["upscale"] = network(NETWORKS / "upscale" / "upscale.onnx")
    photographs = {name: luma(p) for name, p in held_out().items()}
    _head("PSNR on luma, dB", *methods)
    found = {}
    for name, high in photographs.items():
        low = halved(high)
        for method, double in methods.items():
            found[method, name] = rounded(double(low))
        _row(name, *(f"{psnr(found[m, name], high):.2f}" for m in methods))

    def mean(measure: Callable[[np.ndarray, np.ndarray], float]) -> list[float]:
        return [
            float(np.mean([measure(found[m, n], high) for n, high in photographs.items()]))
            for m in methods
        ]

    _row("mean", *(f"{x:.2f}" for x in mean(psnr)))
    _row(f"outer {BORDER} pixels", *(f"{x:.2f}" for x in mean(_border_psnr)))
    _row("GMSD", *(f"{x:.4f}" for x in mean(gradient_deviation)))
    for quality in (90, 75, 50):
        results = [
            np.mean(
                [
                    psnr(rounded(double(with_jpeg(halved(h), quality))), h)
                    for h in photographs.values()
                ]
            )
            for double in methods.values()
        ]
        _row(f"JPEG {quality} input", *(f"{x:.2f}" for x in results))
    for deviation in (2, 4, 8):
        rng = np.random.default_rng(0)
        grey = [np.full((96, 96), level, np.uint8) for level in (64, 128, 192)]
        noisy = [with_noise(patch, deviation, rng) for patch in grey]
        gains = [
            np.mean([double(patch)[8:-8, 8:-8].std() / patch.std() for patch in noisy])
            for double in methods.values()
        ]
        _row(f"noise gain, {deviation}/255", *(f"{x:.2f}" for x in gains))


def _border_psnr(picture: np.ndarray, original: np.ndarray) -> float:
    inside = np.zeros(original.shape, bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    return psnr(picture[~inside], original[~inside])


def denoise() -> None:
    clean = network(NETWORKS / "denoise" / "denoise.onnx")
    damages: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
        "none": lambda p, rng: p,
        "noise 5/255": lambda p, rng: with_noise(p, 5, rng),
        "noise 10/255": lambda p, rng: with_noise(p, 10, rng),
        "noise 20/255": lambda p, rng: with_noise(p, 20, rng),
        "JPEG 30": lambda p, rng: with_jpeg(p, 30),
        "JPEG 50": lambda p, rng: with_jpeg(p, 50),
        "JPEG 75": lambda p, rng: with_jpeg(p, 75),
        "noise 8, JPEG 60": lambda p, rng: with_jpeg(with_noise(p, 8, rng), 60),
    }
    _head("PSNR on RGB, dB", "damaged", "non-local means", "denoise")
    for name, damage in damages.items():
        rng, found = np.random.default_rng(0), []
        for original in held_out().values():
            damaged = damage(original, rng)
            results = (damaged, _nl_means(damaged), rounded(clean(damaged)))
            same = name == "none"  # then the PSNR of the first is infinite
            found.append([np.inf if same and r is damaged else psnr(r, original) for r in results])
        _row(name, *(f"{x:.2f}" for x in np.mean(found, axis=0)))


def _nl_means(picture: np.ndarray) -> np.ndarray:
    """Return non-local means of scikit-image, at the strength that its documentation proposes."""
    p = picture / 255.0
    # Immerkaer 1996, "Fast Noise Variance Estimation": the mean response of a noise filter.
    rows = p[:-2] - 2 * p[1:-1] + p[2:]
    response = rows[:, :-2] - 2 * rows[:, 1:-1] + rows[:, 2:]
    sigma = float(np.sqrt(np.pi / 2) / 6 * np.abs(response).mean())
    return rounded(
        denoise_nl_means(
            p, h=0.8 * sigma, sigma=sigma, patch_size=5, patch_distance=6,
            fast_mode=True, channel_axis=-1,
        ) * 255
    )  # fmt: skip


def text() -> None:
    find = network(NETWORKS / "text" / "text.onnx")
    patches = Patches(list(held_out().values()), 256, seed=11)
    renderer = Renderer(fonts(), seed=12)
    pairs = [renderer.render(patch) for patch in patches.batch(100)]
    probabilities = [find(picture) / 255 for picture, _ in pairs]
    empty = [find(p) / 255 for name, p in held_out().items() if name not in WITH_TEXT]
    _head("threshold", "precision", "recall", "IoU", "marked where no text is")
    for threshold in (0.3, 0.5, 0.7):
        hit = found = there = 0
        for probability, (_, label) in zip(probabilities, pairs, strict=True):
            marked = probability > threshold
            hit += int((marked & (label > 0)).sum())
            found, there = found + int(marked.sum()), there + int(label.sum())
        false = np.mean([(p > threshold).mean() for p in empty])
        shares = (hit / found, hit / there, hit / (found + there - hit))
        _row(str(threshold), *(f"{x:.3f}" for x in shares), f"{false:.2%}")


def _row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def _head(*cells: str) -> None:
    _row(*cells)
    _row(*["---"] * len(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=("upscale", "denoise", "text"))
    parser.add_argument("--with", dest="others", type=Path, nargs="*", default=[],
                        help="other networks that double luma")  # fmt: skip
    options = parser.parse_args()
    if options.network == "upscale":
        upscale(options.others)
    else:
        {"denoise": denoise, "text": text}[options.network]()


if __name__ == "__main__":
    main()
