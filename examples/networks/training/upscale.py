"""Train the network that doubles a photograph, on luma, and write ``upscale.onnx``.

    python examples/networks/training/upscale.py    # 40 minutes on one CPU core; needs [dev]

Height and width are dynamic: luma in 0..1 of shape (1, 1, H, W) to (1, 1, 2H, 2W). Convolutions
repeat the border pixels, as a clamped texture read does. To the network, a training patch is a
whole picture: its low-resolution side is made from the patch alone, so the network learns borders.
"""

from pathlib import Path

import numpy as np
import torch
from learning import arguments, export, train
from measures import psnr
from patches import Patches, luma, with_jpeg, with_noise
from photographs import held_out, training
from PIL import Image
from torch import nn

OUTPUT = Path(__file__).resolve().parents[1] / "upscale" / "upscale.onnx"
CHANNELS = 24
SIDE = 48  # of a low-resolution patch
BATCH = 16
DAMAGED = 0.25  # the share of low-resolution patches with noise or JPEG


class Upscale(nn.Module):
    """Seven 3x3 convolutions that add detail to a bilinear enlargement."""

    def __init__(self) -> None:
        super().__init__()
        self.first = _convolution(1, CHANNELS)
        self.body = nn.Sequential(
            *(m for _ in range(5) for m in (_convolution(CHANNELS, CHANNELS), nn.ReLU()))
        )
        self.last = _convolution(CHANNELS, 4)
        nn.init.zeros_(self.last.weight)  # training starts from the plain enlargement

    def forward(self, low: torch.Tensor) -> torch.Tensor:
        """Double the size of luma (N, 1, H, W)."""
        enlarged = nn.functional.interpolate(low, scale_factor=2, mode="bilinear")
        features = self.first(low)
        detail = self.last(self.body(features) + features)
        return enlarged + nn.functional.pixel_shuffle(detail, 2)


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1, padding_mode="replicate")


class Batches:
    """Batches of low-resolution patches and what they shall become, as tensors in 0..1."""

    def __init__(self) -> None:
        self.patches = Patches([luma(p) for p in training()], 2 * SIDE, seed=1)
        self.rng = np.random.default_rng(2)
        self.halve = [_halving(f) for f in ("BICUBIC", "LANCZOS", "BOX")]

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return low (N, 1, SIDE, SIDE) and high (N, 1, 2 SIDE, 2 SIDE)."""
        high = self.patches.batch(BATCH)
        # Mostly bicubic; the others keep the network from relying on one way to halve.
        halve = self.halve[self.rng.choice(3, p=(0.8, 0.1, 0.1))]
        low = np.round(halve @ high.astype(np.float32) @ halve.T).clip(0, 255).astype(np.uint8)
        for i in np.flatnonzero(self.rng.random(BATCH) < DAMAGED):
            kind = self.rng.integers(3)
            if kind != 0:
                low[i] = with_noise(low[i], self.rng.uniform(1, 6), self.rng)
            if kind != 1:
                low[i] = with_jpeg(low[i], int(self.rng.integers(60, 96)))
        return _tensor(low), _tensor(high)


def _halving(filter_name: str) -> np.ndarray:
    """Return the matrix (SIDE, 2 SIDE) by which Pillow halves a patch along one axis."""
    unit = Image.fromarray(np.eye(2 * SIDE, dtype=np.float32))
    halved = unit.resize((SIDE, 2 * SIDE), Image.Resampling[filter_name])
    return np.asarray(halved).T


def _tensor(pictures: np.ndarray) -> torch.Tensor:
    scaled = torch.from_numpy(pictures.astype(np.float32) / 255)[:, None]
    return scaled.contiguous(memory_format=torch.channels_last)


def measure(model: nn.Module) -> str:
    """Return the gain over bicubic in dB on the held-out photographs and their mean."""
    gains = []
    for photograph in held_out().values():
        high = Image.fromarray(luma(photograph))
        low = high.resize((high.width // 2, high.height // 2), Image.Resampling.BICUBIC)
        bicubic = low.resize(high.size, Image.Resampling.BICUBIC)
        with torch.no_grad():
            out = model(torch.from_numpy(np.asarray(low, np.float32) / 255)[None, None])
        result = np.round(out[0, 0].numpy() * 255).clip(0, 255)
        original = np.asarray(high)
        gains.append(psnr(result, original) - psnr(np.asarray(bicubic), original))
    return f"gain {np.mean(gains):+.3f} dB: " + " ".join(f"{g:+.2f}" for g in gains)


def main() -> None:
    options = arguments(__doc__, minutes=40)
    checkpoint = options.work / "upscale.pt"
    model = Upscale().to(memory_format=torch.channels_last)
    if options.export or options.resume:
        model.load_state_dict(torch.load(checkpoint))
    if not options.export:
        batches = Batches()

        def loss(network: nn.Module) -> torch.Tensor:
            low, high = batches.next()
            # Charbonnier: absolute error, smooth at 0.
            return torch.sqrt((network(low) - high) ** 2 + 1e-6).mean()

        model = train(model, loss, measure, checkpoint, minutes=options.minutes, rate=2e-3)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {measure(model)}")
    export(model.to(memory_format=torch.contiguous_format), 1, ("low", "high"),
           OUTPUT)  # fmt: skip


if __name__ == "__main__":
    main()
