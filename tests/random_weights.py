"""Models whose every weight matters."""

import torch


def perturbed(model):
    """Random weights everywhere, biases and LayerNorm too: an error in any of them shows."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            each.add_(torch.randn(each.shape, generator=generator) * 0.1)
    return model
