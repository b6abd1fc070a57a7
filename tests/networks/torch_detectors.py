"""Detectors without their suppression: the heads' raw or decoded boxes are the outputs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def leaky(before: int, after: int, kernel: int = 3) -> nn.Module:
    convolution = nn.Conv2d(before, after, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.LeakyReLU(0.1))


class YoloV3Tiny(nn.Module):
    """YOLOv3-tiny (Redmon & Farhadi 2018), both heads, their boxes decoded."""

    ANCHORS = (((81, 82), (135, 169), (344, 319)), ((10, 14), (23, 27), (37, 58)))

    def __init__(self, classes: int = 80) -> None:
        super().__init__()
        self.values = classes + 5
        widths = (16, 32, 64, 128, 256)
        self.early = nn.ModuleList(
            leaky(a, b) for a, b in zip((3, *widths[:-1]), widths, strict=True)
        )
        self.late = nn.Sequential(leaky(256, 512), leaky(512, 1024), leaky(1024, 256, 1))
        self.coarse = nn.Sequential(leaky(256, 512), nn.Conv2d(512, 3 * self.values, 1))
        self.shrink = leaky(256, 128, 1)
        self.fine = nn.Sequential(leaky(384, 256), nn.Conv2d(256, 3 * self.values, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        size = x.shape[2]
        for i, layer in enumerate(self.early):
            x = layer(F.max_pool2d(x, 2) if i else x)
        skip = x
        x = self.late[0](F.max_pool2d(x, 2))
        # The pool of stride 1 that keeps the size: one more row and column, of zeros.
        x = F.max_pool2d(F.pad(x, (0, 1, 0, 1)), 2, 1)
        x = self.late[1:](x)
        coarse = self.coarse(x)
        fine = self.fine(torch.cat((F.interpolate(self.shrink(x), scale_factor=2.0), skip), 1))
        return self.boxes(coarse, 0, size), self.boxes(fine, 1, size)

    def boxes(self, y: Tensor, head: int, size: int) -> Tensor:
        """Return (N, boxes, 4 + 1 + classes): centres and extents in pixels, then scores."""
        n, _, h, w = y.shape
        y = y.reshape(n, 3, self.values, h, w).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((columns, rows), -1).float()
        anchors = torch.tensor(self.ANCHORS[head]).float().reshape(1, 3, 1, 1, 2)
        centre = (torch.sigmoid(y[..., :2]) + grid) * (size / h)
        extent = torch.exp(y[..., 2:4].clamp(max=2.0)) * anchors
        decoded = torch.cat((centre, extent, torch.sigmoid(y[..., 4:])), -1)
        return decoded.reshape(n, 3 * h * w, self.values)


def silu(before: int, after: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Module:
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.SiLU())


class Csp(nn.Module):
    """Cross-stage partial layer: one half through bottlenecks, joined with the other."""

    def __init__(self, before: int, after: int, blocks: int, shortcut: bool = True) -> None:
        super().__init__()
        half = after // 2
        self.main, self.side = silu(before, half, 1), silu(before, half, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(silu(half, half, 1), silu(half, half)) for _ in range(blocks)
        )
        self.shortcut, self.join = shortcut, silu(2 * half, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.main(x)
        for block in self.blocks:
            y = y + block(y) if self.shortcut else block(y)
        return self.join(torch.cat((y, self.side(x)), 1))


class SpatialPyramid(nn.Module):
    """Max pools of 5, 9 and 13 beside the input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shrink, self.join = silu(width, width // 2, 1), silu(2 * width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.shrink(x)
        pools = [F.max_pool2d(x, k, 1, k // 2) for k in (5, 9, 13)]
        return self.join(torch.cat((x, *pools), 1))


class Yolox(nn.Module):
    """YOLOX (Ge et al. 2021), width 0.25: focus, CSP backbone, PAFPN, decoupled heads."""

    STRIDES = (8, 16, 32)

    def __init__(self, classes: int = 80, width: int = 16) -> None:
        super().__init__()
        w = [width << i for i in range(5)]
        self.stem = silu(12, w[0])
        self.dark2 = nn.Sequential(silu(w[0], w[1], 3, 2), Csp(w[1], w[1], 1))
        self.dark3 = nn.Sequential(silu(w[1], w[2], 3, 2), Csp(w[2], w[2], 3))
        self.dark4 = nn.Sequential(silu(w[2], w[3], 3, 2), Csp(w[3], w[3], 3))
        self.dark5 = nn.Sequential(
            silu(w[3], w[4], 3, 2), SpatialPyramid(w[4]), Csp(w[4], w[4], 1, shortcut=False)
        )
        self.lateral5, self.lateral4 = silu(w[4], w[3], 1), silu(w[3], w[2], 1)
        self.up4, self.up3 = Csp(2 * w[3], w[3], 1, False), Csp(2 * w[2], w[2], 1, False)
        self.down3, self.down4 = silu(w[2], w[2], 3, 2), silu(w[3], w[3], 3, 2)
        self.out4, self.out5 = Csp(2 * w[2], w[3], 1, False), Csp(2 * w[3], w[4], 1, False)
        self.heads = nn.ModuleList(YoloxHead(c, w[2], classes) for c in w[2:])

    def forward(self, x: Tensor) -> Tensor:
        corners = [x[:, :, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        c3 = self.dark3(self.dark2(self.stem(torch.cat(corners, 1))))
        c4 = self.dark4(c3)
        top5 = self.lateral5(self.dark5(c4))
        top4 = self.lateral4(self.up4(torch.cat((F.interpolate(top5, scale_factor=2.0), c4), 1)))
        p3 = self.up3(torch.cat((F.interpolate(top4, scale_factor=2.0), c3), 1))
        p4 = self.out4(torch.cat((self.down3(p3), top4), 1))
        p5 = self.out5(torch.cat((self.down4(p4), top5), 1))
        decoded = []
        for head, level, stride in zip(self.heads, (p3, p4, p5), self.STRIDES, strict=True):
            y = head(level)
            rows, columns = torch.meshgrid(
                torch.arange(y.shape[2]), torch.arange(y.shape[3]), indexing="ij"
            )
            grid = torch.stack((columns, rows)).float().flatten(1).transpose(0, 1)
            y = y.flatten(2).transpose(1, 2)
            # Weights that nobody trained would have the exponential leave any sensible size.
            extent = torch.exp(y[..., 2:4].clamp(max=4.0)) * stride
            centre = (y[..., :2] + grid) * stride
            decoded.append(torch.cat((centre, extent, y[..., 4:]), -1))
        return torch.cat(decoded, 1)


class YoloxHead(nn.Module):
    """Separate branches for classes, and for boxes and objectness; depthwise 3x3."""

    def __init__(self, before: int, width: int, classes: int) -> None:
        super().__init__()

        def branch() -> nn.Module:
            pair = (silu(width, width, 3, groups=width), silu(width, width, 1))
            return nn.Sequential(*pair, silu(width, width, 3, groups=width), silu(width, width, 1))

        self.stem, self.for_classes, self.for_boxes = silu(before, width, 1), branch(), branch()
        self.classes = nn.Conv2d(width, classes, 1)
        self.box, self.object = nn.Conv2d(width, 4, 1), nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        boxes = self.for_boxes(x)
        scores = torch.sigmoid(self.classes(self.for_classes(x)))
        return torch.cat((self.box(boxes), torch.sigmoid(self.object(boxes)), scores), 1)
