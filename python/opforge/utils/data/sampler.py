"""The order in which samples are read: iterables of their numbers."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

from ... import _core as _C

T = TypeVar("T", covariant=True)


def draw_seed(generator=None) -> int:
    """A seed from `generator`, or from the random numbers of the process."""
    return _C.empty((), dtype=_C.int64).random_(generator=generator).item()


def _check_count(name, value):
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_flag(name, value):
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")


class Sampler(Generic[T]):
    """An iterable of numbers of samples, or of lists of them; with `__len__` where that is known."""

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} needs __iter__")


class SequentialSampler(Sampler[int]):
    """All samples in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All samples in random order, or `num_samples`: without `replacement`, each comes again only when all have been.

    Without a generator of its own, each pass draws a seed from the random numbers of the process.
    """

    _AT_ONCE = 32

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        _check_flag("replacement", replacement)
        if num_samples is not None:
            _check_count("num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self):
        """How many samples a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        generator = _C.Generator().manual_seed(draw_seed()) if self.generator is None else self.generator
        draws = self._independent(generator) if self.replacement else self._permutations(generator)
        return itertools.islice(draws, self.num_samples)

    def _independent(self, generator):
        for _ in range(0, self.num_samples, self._AT_ONCE):
            yield from _C.randint(len(self.data_source), (self._AT_ONCE,), generator=generator).tolist()

    def _permutations(self, generator):
        while len(self.data_source):
            yield from _C.randperm(len(self.data_source), generator=generator).tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The samples at `indices` in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` samples, each drawn with a probability in proportion to its weight."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        _check_flag("replacement", replacement)
        self.weights = _C.as_tensor(weights, dtype=_C.float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        return iter(_C.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` of what `sampler` gives; the last one may be shorter, or is left out with `drop_last`."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        _check_flag("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        source = iter(self.sampler)
        while batch := list(itertools.islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        return batch_count(len(self.sampler), self.batch_size, self.drop_last)


def batch_count(samples, batch_size, drop_last) -> int:
    """How many batches `samples` make."""
    return samples // batch_size if drop_last else -(-samples // batch_size)
