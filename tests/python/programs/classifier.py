"""A classifier: a multilayer perceptron with dropout on handwritten digits."""

import opforge as torch
import opforge.nn as nn
import opforge.nn.functional as F
from opforge.utils.data import DataLoader, TensorDataset, random_split

from . import digits


class Classifier(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.dropout = nn.Dropout(0.1)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.fc1(x)))
        return self.fc2(self.dropout(x))


def train(model, loader, optimizer):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


def accuracy(model, dataset):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(dataset, batch_size=256):
            prediction = model(images).argmax(dim=1)
            correct += (prediction == labels).sum().item()
    return correct / len(dataset)


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(*digits.load())
    held_out = len(dataset) // 5
    training, test = random_split(dataset, [len(dataset) - held_out, held_out])
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.3)
    for _ in range(8):
        train(model, DataLoader(training, batch_size=64, shuffle=True), optimizer)
        scheduler.step()
    return {"accuracy": accuracy(model, test), "lr": scheduler.get_last_lr()[0]}
