"""Reading batches from a data set, in whatever process."""

from __future__ import annotations

import itertools

from .dataset import IterableDataset, samples


class Fetch:
    """How a loader reads: handed to its workers.

    Indices are a list where batches are made, otherwise one index. A data set that is iterated over has its next samples read, as many as there
    are indices.
    """

    def __init__(self, dataset, auto_collation, collate_fn, drop_last, is_iterable=None):
        self.dataset = dataset
        self.is_iterable = isinstance(dataset, IterableDataset) if is_iterable is None else is_iterable
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def begin(self):
        """A function from indices to the batch; it raises StopIteration where an iterable data set ends."""
        if self.is_iterable:
            source = iter(self.dataset)
            return lambda indices: self._next(source, indices)
        return self._at

    def _at(self, indices):
        return self.collate_fn(samples(self.dataset, indices) if self.auto_collation else self.dataset[indices])

    def _next(self, source, indices):
        if not self.auto_collation:
            return self.collate_fn(next(source))
        found = list(itertools.islice(source, len(indices)))
        if not found or (self.drop_last and len(found) < len(indices)):
            raise StopIteration
        return self.collate_fn(found)
