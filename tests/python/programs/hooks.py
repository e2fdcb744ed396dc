"""Hooks: activations that are watched, gradients that are clipped on their way, parameters that are frozen."""

import opforge as torch
import opforge.nn as nn


def main():
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    activations, gradients = {}, {}

    def watch(name):
        def hook(module, inputs, output):
            activations[name] = output.detach()

        return hook

    def watch_gradient(module, grad_input, grad_output):
        gradients["relu"] = grad_output[0].clone()

    handles = [layer.register_forward_hook(watch(name)) for name, layer in model.named_children()]
    handles.append(model[1].register_full_backward_hook(watch_gradient))
    clipped = []
    model[2].weight.register_hook(lambda grad: clipped.append(grad.abs().max().item()) or grad.clamp(-0.01, 0.01))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)

    x = torch.randn(16, 4) * 5
    model(x).pow(2).sum().backward()
    frozen = [parameter.grad for parameter in model[0].parameters()]
    largest = model[2].weight.grad.abs().max().item()
    for handle in handles:
        handle.remove()
    activations_then = {name: tuple(value.shape) for name, value in activations.items()}
    activations.clear()
    model(x)
    return {
        "activations": activations_then,
        "negative": (activations_then and model[1](torch.tensor([-1.0]))).item(),
        "gradient": tuple(gradients["relu"].shape) if gradients else None,
        "before": clipped[0],
        "after": largest,
        "frozen": frozen,
        "removed": not activations,
    }
