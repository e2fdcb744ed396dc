"""A convolutional network on the handwritten digits of data/digits.csv.gz, on a GPU where there is one."""

import csv
import gzip
import pathlib

import opforge as torch
from opforge import nn
from opforge.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

DATA = pathlib.Path(__file__).parents[1] / "data" / "digits.csv.gz"
EPOCHS = 12
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class DigitNet(nn.Module):
    """Images of 8 by 8 in, logits of 10 digits out."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(48 * 4 * 4, 10))

    def forward(self, images):
        return self.head(self.features(images))


def load():
    """Training and held-out images with their labels: every fifth digit is held out."""
    with gzip.open(DATA, "rt") as file:
        table = torch.tensor([[int(cell) for cell in row] for row in csv.reader(file)])
    images, labels = table[:, :64].float().reshape(-1, 1, 8, 8) / 16, table[:, 64]
    held_out = torch.arange(len(table)) % 5 == 0
    return TensorDataset(images[~held_out], labels[~held_out]), TensorDataset(images[held_out], labels[held_out])


def place():
    """Where the network is, in words."""
    return f"the GPU {torch.cuda.get_device_name()}" if DEVICE.type == "cuda" else "the CPU"


@torch.no_grad()
def accuracy(model, dataset):
    """The share of images whose digit the model names."""
    model.eval()
    device = next(model.parameters()).device
    right = [(model(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in DataLoader(dataset, batch_size=256)]
    return sum(right) / len(dataset)


def train(picture):
    """Trains the network, draws its losses, and returns its accuracy on held-out digits."""
    torch.manual_seed(0)
    training, held_out = load()
    model, criterion, losses = DigitNet().to(DEVICE), nn.CrossEntropyLoss(), []
    loader = DataLoader(training, batch_size=64, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=EPOCHS * len(loader))
    print(f"A convolutional network on {len(training)} digits, {sum(p.numel() for p in model.parameters())} parameters, on {place()}")
    for epoch in range(EPOCHS):
        model.train()
        progress = tqdm(loader, desc=f"  epoch {epoch + 1:2}", ncols=90, mininterval=0.5)
        for images, labels in progress:
            loss = criterion(model(images.to(DEVICE)), labels.to(DEVICE))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    draw(losses, len(loader), picture)
    return accuracy(model, held_out)


def draw(losses, steps, picture):
    """Draws the loss of every step, and its mean by epoch."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4.5))
    epochs = [i / steps for i in range(len(losses))]
    means = [sum(losses[i : i + steps]) / steps for i in range(0, len(losses), steps)]
    axes.plot(epochs, losses, color="#9ec3e0", linewidth=1, label="each batch")
    axes.plot([i + 0.5 for i in range(len(means))], means, color="#1f6fb4", linewidth=2, marker="o", label="mean of the epoch")
    axes.set(xlabel="epoch", ylabel="cross entropy", yscale="log", title="A convolutional network learns handwritten digits")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
