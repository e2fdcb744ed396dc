"""Gradients of small batches, accumulated, are the gradient of the large batch."""

import copy

import opforge as torch
import opforge.nn as nn


def main():
    torch.manual_seed(8)
    inputs, targets = torch.randn(64, 10), torch.randn(64, 1)
    whole = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))
    parts = copy.deepcopy(whole)
    loss_fn = nn.MSELoss()
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9) for model in (whole, parts)]
    losses = []
    for _ in range(30):
        optimizers[0].zero_grad()
        loss = loss_fn(whole(inputs), targets)
        loss.backward()
        optimizers[0].step()
        losses.append(loss.item())

        optimizers[1].zero_grad()
        for x, y in zip(inputs.chunk(4), targets.chunk(4)):
            (loss_fn(parts(x), y) / 4).backward()
        optimizers[1].step()
    difference = max((a - b).abs().max().item() for a, b in zip(whole.parameters(), parts.parameters()))
    return {"difference": difference, "first": losses[0], "last": losses[-1]}
