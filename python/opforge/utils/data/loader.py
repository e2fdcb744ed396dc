"""The loader, and its iterator that works where it is called."""

from __future__ import annotations

import itertools
import warnings

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import Fetch
from .sampler import BatchSampler, RandomSampler, SequentialSampler, batch_count, draw_seed


class _Forever:
    """The sampler of an iterable data set, which decides itself what comes and when it ends."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader:
    """Batches of a data set, in the order of a sampler.

    - `batch_size` None gives samples as they are. `drop_last` leaves an incomplete last batch out.
    - `shuffle`, `sampler` (numbers of samples) or `batch_sampler` (lists of them) say what is read when.
    - `num_workers` processes read ahead, `prefetch_factor` (2) batches each. Batches come in the sampler's order unless `in_order` is false.
      Worker `i` has its random numbers seeded by `base_seed + i`, where `base_seed` is drawn from `generator` for each pass; then
      `worker_init_fn(i)` is called. `persistent_workers` live as long as the loader. `timeout` is in seconds, for one batch.
    - `multiprocessing_context` is a context of `multiprocessing` or its name; workers are forked on Linux if nothing else is asked for.
    - `pin_memory` changes nothing: memory is not pinned, for no device.

    An exception in a worker is raised here, of the same class, with the worker's traceback in its text. A worker that dies is a RuntimeError.

    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    _FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
        drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
        persistent_workers=False, pin_memory_device="", in_order=True,
    ):  # fmt: skip
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        _check_order(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = _Forever()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler = batch_sampler if sampler is None else sampler
        self.batch_sampler = batch_sampler
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._iterator = None
        self._ready = True

    def __setattr__(self, name, value):
        if name in self._FIXED and getattr(self, "_ready", False):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _fetch(self):
        return Fetch(self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last)

    def __iter__(self):
        if self.num_workers == 0:
            return SingleProcessIterator(self)
        from .pool import WorkersIterator

        if not self.persistent_workers:
            return WorkersIterator(self)
        if self._iterator is None or self._iterator.is_shut_down:
            self._iterator = WorkersIterator(self)
        else:
            self._iterator.begin()
        return self._iterator

    def __len__(self):
        """The number of batches; for an iterable data set, what its `__len__` makes expect."""
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        count = len(self.dataset)
        return count if self.batch_size is None else batch_count(count, self.batch_size, self.drop_last)

    def __getstate__(self):
        """Iterators stay where they are."""
        return {**self.__dict__, "_iterator": None}


class SingleProcessIterator:
    """A pass over a loader's batches, read when they are asked for."""

    def __init__(self, loader):
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        draw_seed(loader.generator)  # as workers would have: random numbers after it do not depend on the number of workers
        self._read = _fetch_of(loader).begin()
        self._count = LengthCheck(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        batch = self._read(next(self._indices))
        self._count.up()
        return batch


def _fetch_of(loader):
    """How a loader reads, also one of a package's own that has PyTorch's attributes."""
    if hasattr(loader, "_fetch"):
        return loader._fetch()
    return Fetch(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last, loader._dataset_kind == 1)


class LengthCheck:
    """Counts batches, and warns once if an iterable data set has more than its `__len__` says."""

    def __init__(self, loader):
        self._loader = loader
        self._count = 0
        self._expected = None
        if isinstance(loader.dataset, IterableDataset) and hasattr(loader.dataset, "__len__"):
            self._expected = len(loader)

    def up(self):
        self._count += 1
        if self._expected is None or self._count <= self._expected:
            return
        warnings.warn(
            f"Length of IterableDataset {self._loader.dataset} was reported to be {self._expected} (batches), but more have been fetched"
            + (": see get_worker_info for how workers divide the samples" if self._loader.num_workers else ""),
            stacklevel=3,
        )
        self._expected = None


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context):
    if num_workers < 0:
        raise ValueError(f"num_workers option should be non-negative, got {num_workers}; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if num_workers == 0:
        for name, given in (
            ("timeout", timeout),
            ("prefetch_factor", prefetch_factor is not None),
            ("persistent_workers", persistent_workers),
            ("multiprocessing_context", multiprocessing_context is not None),
        ):
            if given:
                raise ValueError(f"{name} option needs num_workers > 0")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"prefetch_factor option should be positive, got {prefetch_factor}")


def _check_order(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last):
    if isinstance(dataset, IterableDataset):
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
