"""Weights that two layers share: a tied embedding, which counts, trains and is stored once."""

import opforge as torch
import opforge.nn as nn
import opforge.nn.functional as F


class TiedModel(nn.Module):
    def __init__(self, vocabulary=12, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.body(self.embed(tokens))))


def main():
    torch.manual_seed(7)
    model = TiedModel()
    tokens = torch.arange(12)
    following = (tokens + 5) % 12
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(150):
        loss = F.cross_entropy(model(tokens), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    accuracy = (model(tokens).argmax(1) == following).float().mean().item()
    same = model.head.weight is model.embed.weight
    return {"accuracy": accuracy, "same": same, "parameters": len(list(model.parameters())), "keys": sorted(model.state_dict())}
