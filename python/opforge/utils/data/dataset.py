"""Data sets: of samples by number, or of samples in a row."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from typing import Generic, TypeVar

from ... import _core as _C

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by number or key: a subclass defines `__getitem__`, and `__len__` where samples are counted.

    With `__getitems__(indices)`, which returns a list of samples, batches are read in one call.
    """

    def __getitem__(self, index) -> T:
        raise NotImplementedError(f"{type(self).__name__} needs __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples in a row: a subclass defines `__iter__`.

    Each worker process of a loader iterates over a copy of its own; `get_worker_info` tells `__iter__` which part is its share.
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tuples of what tensors of one length have at a place of the first dimension."""

    def __init__(self, *tensors):
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise AssertionError(f"tensors of one length expected, got lengths {[len(tensor) for tensor in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Tuples of samples of several data sets of one length; dictionaries if the data sets are named."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError("data sets expected, either all by position or all by name")
        self.datasets = args or kwargs
        parts = list(kwargs.values() if kwargs else args)
        if any(len(part) != len(parts[0]) for part in parts):
            raise ValueError(f"data sets of one length expected, got lengths {[len(part) for part in parts]}")
        self._length = len(parts[0])

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = [samples(part, indices) for part in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*(samples(part, indices) for part in self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[T]):
    """Data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; see ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            kind = IndexError if index >= 0 else ValueError
            raise kind(f"index {index} is out of range for {len(self)} samples")
        index %= len(self)
        part = bisect_right(self.cumulative_sizes, index)
        return self.datasets[part][index - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset):
    """Iterable data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def _parts(self):
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, got {type(part).__name__}")
            yield part

    def __iter__(self):
        return itertools.chain.from_iterable(self._parts())

    def __len__(self):
        return sum(map(len, self._parts()))


class Subset(Dataset[T]):
    """The samples of a data set at `indices`."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        return samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def samples(dataset, indices):
    """The samples at `indices` as a list: by `__getitems__`, if the data set has it."""
    several = getattr(dataset, "__getitems__", None)
    if several is None:
        return [dataset[i] for i in indices]
    found = several(indices)
    if len(found) != len(indices):
        raise ValueError(f"{type(dataset).__name__}.__getitems__ returned {len(found)} samples for {len(indices)} indices")
    return found


def _counts(lengths, total):
    """Lengths as numbers of samples; of fractions, what rounding down leaves over goes to the first ones, one each."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return list(lengths)
    for i, part in enumerate(lengths):
        if not 0 <= part <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    counts = [math.floor(total * part) for part in lengths]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"Length of split at index {i} is 0: the data set there will be empty", stacklevel=3)
    return counts


def random_split(dataset, lengths, generator=None):
    """Splits a data set at random into subsets of `lengths`: numbers of samples, or fractions that add up to 1."""
    counts = _counts(lengths, len(dataset))
    if sum(counts) != len(dataset):
        raise ValueError(f"Sum of input lengths does not equal the length of the input dataset: {sum(counts)}, {len(dataset)}")
    order = iter(_C.randperm(sum(counts), generator=generator).tolist())
    return [Subset(dataset, list(itertools.islice(order, count))) for count in counts]
