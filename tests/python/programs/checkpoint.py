"""Training that is interrupted, stored and resumed ends where uninterrupted training does."""

import pathlib
import tempfile

import opforge as torch
import opforge.nn as nn


def build():
    torch.manual_seed(9)
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return model, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)


def train(model, optimizer, scheduler, data, epochs):
    inputs, targets = data
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item()


def main():
    torch.manual_seed(10)
    inputs = torch.randn(50, 6)
    data = inputs, inputs.sum(1, keepdim=True).sin()
    straight = build()
    expected = train(*straight, data, 40)

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "checkpoint.pt"
        model, optimizer, scheduler = build()
        train(model, optimizer, scheduler, data, 25)
        torch.save(
            {
                "epoch": 25,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
            },
            path,
        )
        model, optimizer, scheduler = build()
        stored = torch.load(path)
        model.load_state_dict(stored["model"])
        optimizer.load_state_dict(stored["optimizer"])
        scheduler.load_state_dict(stored["scheduler"])
        resumed = train(model, optimizer, scheduler, data, 40 - stored["epoch"])
    equal = all(torch.equal(a, b) for a, b in zip(straight[0].parameters(), model.parameters()))
    return {"expected": expected, "resumed": resumed, "equal": equal}
