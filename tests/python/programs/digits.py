"""The handwritten digits that the programs learn: 8 by 8 images, 0 to 16."""

import csv
import gzip
import pathlib

import opforge as torch

FILE = pathlib.Path(__file__).parents[3] / "data" / "digits.csv.gz"


def load(count=None):
    """Images (n, 64) in 0..1 and labels (n,)."""
    with gzip.open(FILE, "rt") as file:
        rows = [[int(cell) for cell in row] for row in csv.reader(file) if row and row[0].strip().isdigit()]
    table = torch.tensor(rows[:count])
    return table[:, :64].float() / 16, table[:, 64]
