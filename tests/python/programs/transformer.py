"""A small transformer that learns to reverse sequences."""

import math

import opforge as torch
from opforge import nn

LENGTH, VOCABULARY, WIDTH = 6, 8, 32


class PositionalEncoding(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        encoding = torch.zeros(1, length, width)
        encoding[0, :, 0::2] = torch.sin(position * frequency)
        encoding[0, :, 1::2] = torch.cos(position * frequency)
        self.register_buffer("encoding", encoding)

    def forward(self, x):
        return x + self.encoding[:, : x.size(1)]


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.position = PositionalEncoding(WIDTH, LENGTH)
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.encoder(self.position(self.embed(tokens))))


def main():
    torch.manual_seed(3)
    model = Reverser()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=250)
    loss_fn = nn.CrossEntropyLoss()
    for _ in range(250):
        tokens = torch.randint(0, VOCABULARY, (64, LENGTH))
        logits = model(tokens)
        loss = loss_fn(logits.flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.inference_mode():
        tokens = torch.randint(0, VOCABULARY, (200, LENGTH))
        right = (model(tokens).argmax(-1) == tokens.flip(1)).float().mean().item()
    return {"accuracy": right, "parameters": sum(p.numel() for p in model.parameters())}
