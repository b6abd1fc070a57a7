"""Train the network that finds text in pictures, and write ``text.onnx``.

    python examples/networks/training/text.py    # 30 minutes on one CPU core; needs [dev]

Height and width are dynamic: RGB in 0..1 of shape (1, 3, H, W) to (1, 1, H, W), the probability
that a pixel belongs to a line of text. Nobody labelled pictures: rendering.py draws the text.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from fonts import fonts
from learning import arguments, export, train
from patches import Patches
from photographs import held_out, training
from rendering import Renderer
from torch import nn
from torch.nn import functional as F

OUTPUT = Path(__file__).resolve().parents[1] / "text" / "text.onnx"
CHANNELS = (16, 24, 32, 32)  # at a half, a quarter, an eighth and a sixteenth of the size
SIDE = 192
BATCH = 8


class Text(nn.Module):
    """A small U-Net whose skip connections add."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (3, *CHANNELS)
        self.down = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(a, b, 3, stride=2, padding=1), nn.ReLU(), _convolution(b), nn.ReLU()
            )
            for a, b in pairwise(sizes)
        )
        self.narrow = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in pairwise(CHANNELS))
        self.up = nn.ModuleList(nn.Sequential(_convolution(a), nn.ReLU()) for a in CHANNELS[:-1])
        self.score = nn.Conv2d(CHANNELS[0], 1, 3, padding=1)

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        """Return the probability of text (N, 1, H, W) for RGB (N, 3, H, W)."""
        return torch.sigmoid(self.scores(picture))

    def scores(self, picture: torch.Tensor) -> torch.Tensor:
        """Return the same before the sigmoid."""
        skips = []
        x = picture
        for down in self.down:
            x = down(x)
            skips.append(x)
        for narrow, up, skip in list(zip(self.narrow, self.up, skips, strict=False))[::-1]:
            x = up(_enlarged(narrow(x), skip) + skip)
        return _enlarged(self.score(x), picture)


def _enlarged(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x, size=like.shape[2:], mode="bilinear")


def _convolution(channels: int) -> nn.Conv2d:
    return nn.Conv2d(channels, channels, 3, padding=1)


class Batches:
    """Batches of rendered pictures and labels, as tensors."""

    def __init__(self, photographs: list[np.ndarray], seed: int) -> None:
        self.patches = Patches(photographs, SIDE, seed)
        self.renderer = Renderer(fonts(), seed + 1)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return pictures (N, 3, SIDE, SIDE) in 0..1 and labels (N, 1, SIDE, SIDE), 0 or 1."""
        pairs = [self.renderer.render(patch) for patch in self.patches.batch(BATCH)]
        pictures, labels = (np.stack(p) for p in zip(*pairs, strict=True))
        scaled = torch.from_numpy(pictures.astype(np.float32) / 255).permute(0, 3, 1, 2)
        return (
            scaled.contiguous(memory_format=torch.channels_last),
            torch.from_numpy(labels.astype(np.float32))[:, None],
        )


def measure(model: nn.Module) -> str:
    """Return precision, recall and intersection over union on text over held-out photographs."""
    batches = Batches(list(held_out().values()), seed=7)
    hit = found = there = 0.0
    for _ in range(6):
        pictures, labels = batches.next()
        with torch.no_grad():
            text = (model(pictures) > 0.5).float()
        hit += float((text * labels).sum())
        found += float(text.sum())
        there += float(labels.sum())
    return (
        f"precision {hit / max(found, 1):.3f} recall {hit / there:.3f} "
        f"IoU {hit / (found + there - hit):.3f}"
    )


def main() -> None:
    options = arguments(__doc__, minutes=30)
    checkpoint = options.work / "text.pt"
    model = Text().to(memory_format=torch.channels_last)
    if options.export or options.resume:
        model.load_state_dict(torch.load(checkpoint))
    if not options.export:
        batches = Batches(training(), seed=1)

        def loss(network: nn.Module) -> torch.Tensor:
            pictures, labels = batches.next()
            return F.binary_cross_entropy_with_logits(network.scores(pictures), labels)

        model = train(model, loss, measure, checkpoint, minutes=options.minutes, rate=2e-3)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {measure(model)}")
    export(model.to(memory_format=torch.contiguous_format), 3, ("picture", "text"),
           OUTPUT)  # fmt: skip


if __name__ == "__main__":
    main()
