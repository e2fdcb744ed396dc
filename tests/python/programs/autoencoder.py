"""An autoencoder: digits through a bottleneck of 8 numbers."""

import opforge as torch
from opforge import nn, optim

from . import digits


def main():
    torch.manual_seed(1)
    images, _ = digits.load(1200)
    encoder = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 8))
    decoder = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 64), nn.Sigmoid())
    model = nn.Sequential(encoder, decoder)
    criterion = nn.MSELoss()
    optimizer = optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)
    with torch.no_grad():
        mean_error = criterion(images.mean(0, keepdim=True).expand_as(images), images).item()
    for _ in range(25):
        for batch in images[torch.randperm(len(images))].split(100):
            loss = criterion(model(batch), batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        error = criterion(model(images), images).item()
    return {"error": error, "error_of_the_mean": mean_error, "code": tuple(encoder(images[:5]).shape)}
