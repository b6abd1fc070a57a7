"""Random weights for torch modules that behave like trained ones.

With plain random weights deep networks forget their input: activations fade, or all inputs end in
the same place. Here every layer's output is brought to a mean near 0 and a deviation near 1 for
each channel on a few pictures, in the order of execution, and then given a random gain and shift.
Batch normalisation takes the statistics it sees.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d)
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
AFFINE_NORMS = (nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d)


def calibrate(model: nn.Module, pictures: Tensor, seed: int = 0, logits: float = 0.0) -> nn.Module:
    """Give a module weights, in place, and return it in evaluation mode.

    Args:
        model: any module with one input.
        pictures: a batch to run through.
        seed: of the weights.
        logits: for a classifier, the deviation wanted of its last layer's outputs; 0 is off.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(False)
        _initialise(name.rpartition(".")[2], parameter, generator)
    fit = _Fit(generator)
    hooks = [m.register_forward_hook(fit) for m in model.modules()]
    model.eval()
    with torch.no_grad():
        model(pictures)
    for hook in hooks:
        hook.remove()
    if logits and fit.last is not None:
        fit.last.weight.mul_(logits)
        if fit.last.bias is not None:
            fit.last.bias.mul_(logits)
    return model


def _initialise(name: str, parameter: Tensor, generator: torch.Generator) -> None:
    def uniform(low: float, high: float) -> None:
        parameter.copy_(torch.rand(parameter.shape, generator=generator) * (high - low) + low)

    if parameter.dim() >= 2 and name.endswith("weight"):
        fan_in = parameter[0].numel()
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(noise * (2 / fan_in) ** 0.5)
    elif name.endswith("weight"):  # normalisations and PReLU
        uniform(0.1, 0.4) if parameter.numel() == 1 else uniform(0.5, 1.5)
    elif name.endswith("bias"):
        uniform(-0.2, 0.2)
    else:  # class tokens, position embeddings, layer scales
        uniform(0.2, 0.8) if "scale" in name else uniform(-0.5, 0.5)


def _shrunk(variance: Tensor) -> Tensor:
    """Draw variances towards their mean: a small map says little about a channel's."""
    return 0.5 * variance + 0.5 * variance.mean() + 1e-6


class _Fit:
    """A forward hook that fits a layer to what it sees the first time it is called."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator
        self.seen: set[nn.Module] = set()
        self.last: Any = None

    def __call__(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
        if module in self.seen:
            return None
        self.seen.add(module)
        if isinstance(module, (*CONVOLUTIONS, nn.Linear)):
            self.last = module
            return self._rescale(module, output)
        if isinstance(module, BATCH_NORMS) and module.running_mean is not None:
            axes = [a for a in range(inputs[0].dim()) if a != 1]
            module.running_mean.copy_(inputs[0].mean(axes))
            module.running_var.copy_(_shrunk(inputs[0].var(axes, unbiased=False)))
            return module.forward(inputs[0])
        return None

    def _rescale(self, module: Any, output: Tensor) -> Tensor:
        """Scale weights and shift the bias, and return what the layer would give now."""
        channel = output.dim() - 1 if isinstance(module, nn.Linear) else 1
        axes = [a for a in range(output.dim()) if a != channel]
        shape = [-1 if a == channel else 1 for a in range(output.dim())]
        deviation = _shrunk(output.var(axes, unbiased=False)).sqrt()
        channels = output.shape[channel]
        factor = (0.7 + 0.6 * torch.rand(channels, generator=self.generator)) / deviation
        weight = module.weight
        if isinstance(module, nn.ConvTranspose2d) and module.groups > 1:
            raise NotImplementedError("transposed convolution in groups")
        output_axis = 1 if isinstance(module, nn.ConvTranspose2d) else 0
        along = [-1 if a == output_axis else 1 for a in range(weight.dim())]
        weight.mul_(factor.reshape(along))
        if module.bias is None:
            return output * factor.reshape(shape)
        mean = output.mean(axes)
        shift = 0.4 * torch.rand(channels, generator=self.generator) - 0.2
        module.bias.copy_((module.bias - mean) * factor + shift)
        return (output - mean.reshape(shape)) * factor.reshape(shape) + shift.reshape(shape)
