"""The training loop that the networks share: schedule by time, averaged weights, checkpoints."""

import argparse
import copy
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import onnx
import torch
from torch import nn

AVERAGE = 0.999  # the share of the old average that each step keeps
MUON_RATE = 0.02  # the highest learning rate of Muon


def arguments(description: str | None, minutes: float) -> argparse.Namespace:
    """Parse the options of a training script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--minutes", type=float, default=minutes, help="(default: %(default)s)")
    parser.add_argument("--work", type=Path, default=Path("work"), help="folder of checkpoints")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--export", action="store_true", help="only export the checkpoint")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    return options


def train(
    model: nn.Module,
    loss_of_batch: Callable[[nn.Module], torch.Tensor],
    measure: Callable[[nn.Module], str],
    checkpoint: Path,
    *,
    minutes: float,
    rate: float,
    hidden: Iterable[nn.Parameter] = (),
) -> nn.Module:
    """Train for a time and return the model with averaged weights.

    Adam trains the parameters, at a learning rate of at most ``rate``. ``hidden`` are weights of
    convolutions (channels last) that Muon trains instead (Jordan et al. 2024): it takes fewer
    steps.

    The learning rate rises for 3 % of the time and then falls along a cosine, so a slow machine
    takes fewer steps and still ends at a low rate. ``measure`` describes the averaged model on
    held-out pictures; the loop prints its text and stores the weights twenty times.
    """
    average = copy.deepcopy(model).eval()
    hidden = list(hidden)
    by_muon = {id(weight) for weight in hidden}
    others = [p for p in model.parameters() if id(p) not in by_muon]
    optimizers = {torch.optim.Adam(others, lr=0, betas=(0.9, 0.99)): rate}
    # Muon takes matrices only. These share the memory of the weights: view() refuses to copy.
    matrices = [
        nn.Parameter(_by_output(weight.detach()).view(len(weight), -1)) for weight in hidden
    ]
    if matrices:
        optimizers[torch.optim.Muon(matrices, lr=0, weight_decay=0)] = MUON_RATE
    start, spent, shown, step = time.monotonic(), 0.0, -1, 0
    while spent < 1:
        warm = min(1, spent / 0.03)
        share = 0.02 + 0.98 * warm * (0.5 + 0.5 * math.cos(math.pi * spent))
        loss = loss_of_batch(model)
        model.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for matrix, weight in zip(matrices, hidden, strict=True):
            matrix.grad = _by_output(weight.grad).reshape(matrix.shape)
        for optimizer, highest in optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = highest * share
            optimizer.step()
        step += 1
        keep = min(AVERAGE, step / (step + 10))
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 1 - keep)
        spent = (time.monotonic() - start) / (60 * minutes)
        if int(spent * 20) > shown or spent >= 1:
            shown = int(spent * 20)
            torch.save(average.state_dict(), checkpoint)
            print(
                f"{min(spent, 1):4.0%} step {step} loss {loss:.5f} {measure(average)}", flush=True
            )
    return average


def _by_output(weight: torch.Tensor) -> torch.Tensor:
    """Return weights OIHW as OHWI, the order of their memory with channels last."""
    return weight.permute(0, 2, 3, 1)


def export(model: nn.Module, channels: int, names: tuple[str, str], path: Path) -> None:
    """Write the model as float32 ONNX in one file, batch 1, height and width dynamic."""
    height, width = torch.export.Dim("height", min=8), torch.export.Dim("width", min=8)
    torch.onnx.export(
        model.eval(),
        (torch.rand(1, channels, 48, 64),),
        str(path),
        input_names=[names[0]],
        output_names=[names[1]],
        dynamic_shapes=({2: height, 3: width},),
        external_data=False,
        verbose=False,
    )
    exported = onnx.load(path)
    for node in exported.graph.node:  # where in the Python code it came from: a third of the file
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    onnx.save(exported, path)
