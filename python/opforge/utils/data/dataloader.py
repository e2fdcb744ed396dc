"""The loader under the name of the file that PyTorch has it in."""

from __future__ import annotations

from . import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, SequentialSampler, default_collate, default_convert
from . import get_worker_info
from .loader import SingleProcessIterator as _SingleProcessDataLoaderIter
from .pool import WorkersIterator as _MultiProcessingDataLoaderIter

__all__ = [
    "BatchSampler", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "default_collate",
    "default_convert", "get_worker_info",
]  # fmt: skip

# Packages ask whether an iterator is one of a loader's.
_BaseDataLoaderIter = _SingleProcessDataLoaderIter | _MultiProcessingDataLoaderIter
