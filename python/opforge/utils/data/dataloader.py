"""The loader under the name of the file that PyTorch has it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, SequentialSampler, default_collate, default_convert
from . import get_worker_info
from .loader import SingleProcessIterator as _SingleProcessDataLoaderIter
from .pool import WorkersIterator as _MultiProcessingDataLoaderIter

__all__ = [
    "BatchSampler", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "default_collate",
    "default_convert", "get_worker_info",
]  # fmt: skip

# What makes a batch of samples, for annotations.
_collate_fn_t = Callable[[list], Any]


class _DatasetKind:
    """How a loader reads its dataset, as numbers."""

    Map, Iterable = 0, 1


# Packages ask whether an iterator is one of a loader's.
_BaseDataLoaderIter = _SingleProcessDataLoaderIter | _MultiProcessingDataLoaderIter
