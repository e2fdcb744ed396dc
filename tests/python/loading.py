"""Data sets for tests of loaders."""

import opforge as torch
from opforge.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    """0, 1, .. as tensors; `at` has actions for some of them, done in whatever process."""

    def __init__(self, count, **at):
        self.count = count
        self.at = at

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.at.get(f"_{i}", lambda: None)()
        return torch.tensor(i)


class Row(IterableDataset):
    """0, 1, .. as numbers, shared out among workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.count) if info is None else range(info.id, self.count, info.num_workers))


class RowWithLength(Row):
    def __len__(self):
        return 3


def lists(loader):
    return [batch.tolist() for batch in loader]
