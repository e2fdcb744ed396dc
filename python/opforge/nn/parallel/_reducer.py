"""The averaging of gradients over processes while backward runs, by hooks that are called as soon as a gradient is complete."""

from __future__ import annotations

import functools
import weakref

from ... import _core as _C
from ...autograd.grad_mode import no_grad
from ...distributed import GradBucket, _futures

# What a rank adds to the count of a parameter whose gradient came again after its bucket had left.
_LATE = 1 << 20
# Forwards are counted up to this number: so that the sum of its squares over thousands of ranks is an int32.
_TURN = 1 << 10

_UNFINISHED = (
    "DistributedDataParallel: the backward before has ended with an error after all-reduces of its gradients had begun, which the other ranks wait for. "
    "Expected to have finished reduction in the prior iteration before starting a new one"
)


class Reducer:
    """Averages the gradients of parameters over a group.

    Each bucket's call begins as soon as all its gradients are there and the buckets before it have left, so that all ranks make the same calls in the
    same order. At the end of backward what is left begins, ranks exchange which parameters had gradients, and the averages are written. So a gradient
    that is missing somewhere is found on every rank, at once.
    """

    def __init__(self, names, parameters, group, buckets, *, find_unused=False, static=False, as_views=False):
        self.names, self.parameters, self.group, self.buckets = names, parameters, group, buckets
        self.find_unused, self.static, self.as_views = find_unused, static, as_views
        self.hook = self.state = None
        self.is_syncing = True
        # How many forwards there were whose backwards are averaged: the same number on all ranks, unless one leaves out a backward.
        self.forwards = 0
        # How many ranks have a backward, and what sums are divided by: fewer than all where some have no more data.
        self.active = self.divisor = group.size()
        # Parameters that had gradients since the last averaging, in backwards that were not averaged.
        self.kept = set()
        # How often each gradient comes in a backward; a static graph's are counted in the first.
        self.needed = [1] * len(parameters)
        self.is_learning = static
        self.bucket_of = {position: bucket for bucket in buckets for position in bucket.positions}
        self.reset()
        arrived = weakref.WeakMethod(self._arrived)
        self.handles = [
            parameter.register_post_accumulate_grad_hook(functools.partial(_call, arrived, i)) for i, parameter in enumerate(parameters)
        ]

    def reset(self):
        """Forgets what a backward has counted."""
        self.ending = None
        self.seen = [0] * len(self.parameters)
        self.left = [sum(self.needed[i] > 0 for i in bucket.positions) for bucket in self.buckets]
        self.late, self.futures = set(), []

    def prepare(self, is_syncing):
        """Says whether the backwards of this forward are averaged."""
        if self.futures:
            raise RuntimeError(_UNFINISHED)
        if not self._is_under_way():
            self.reset()
        self.is_syncing = is_syncing
        self.forwards = (self.forwards + is_syncing) % _TURN

    def _is_under_way(self):
        """Whether a backward that is averaged runs: one that failed has dropped its end."""
        return self.ending is not None and self.ending() is not None

    def _enter(self):
        if self.futures:
            raise RuntimeError(_UNFINISHED)
        self.reset()

        def finish():
            self._finish()

        self.ending = weakref.ref(finish)
        _C.at_the_end_of_backward(finish)

    def _arrived(self, position, _parameter):
        if not self.is_syncing:
            self.kept.add(position)
            return
        if not self._is_under_way():
            self._enter()
        self.seen[position] += 1
        if self.is_learning:
            return
        bucket = self.bucket_of[position]
        if self.seen[position] == self.needed[position]:
            self.left[bucket.index] -= 1
            self._begin_full()
        elif self.seen[position] > self.needed[position] and bucket.index < len(self.futures):
            self.late.add(position)

    def _begin_full(self):
        while len(self.futures) < len(self.buckets) and self.left[len(self.futures)] == 0:
            self._begin(self.buckets[len(self.futures)])

    def _begin(self, bucket):
        """Begins a bucket's call. It holds this rank's gradients of this backward, and those kept of backwards that were not averaged."""
        with no_grad():
            flat = bucket.gather(lambda i: self.seen[i] or (self.find_unused or self.static) and i in self.kept)
            if self.hook is None:
                future = _average(self.group, flat, self.divisor)
            else:
                future = self.hook(self.state, GradBucket(bucket, flat))
                if not callable(getattr(future, "wait", None)):
                    raise TypeError(f"communication hook: returned {type(future).__name__}, expected a Future of a tensor")
        self.futures.append(future)

    def _finish(self):
        """Writes the averages, when all ranks have the same gradients, or may lack some."""
        seen = self.seen
        averages, counts, forwards = self._exchange()
        if self.is_learning:
            self.needed, self.is_learning = list(seen), False
        self.kept.clear()
        self.reset()
        self._check_forwards(*forwards)
        self._check(counts, seen)
        with no_grad():
            for bucket, flat in zip(self.buckets, averages):
                self._write(bucket, flat, counts)

    def _exchange(self):
        """Begins what is left, and waits for all: averages by bucket, on how many ranks each parameter has a gradient, and the sums over ranks of the
        number of forwards and of its square."""
        for bucket in self.buckets[len(self.futures) :]:
            self._begin(bucket)
        counts = self._counts()
        averages = [_vector(future.wait(), bucket) for future, bucket in zip(self.futures, self.buckets)]
        *counts, forwards, squares = counts().tolist()
        return averages, counts, (forwards, squares)

    def shadow(self):
        """Takes part in the calls of a backward that other ranks have, with gradients of 0."""
        self.prepare(True)
        self.kept.clear()
        self._exchange()
        self.reset()

    def _counts(self):
        """Begins to count on how many ranks each parameter has a gradient; gives what waits for the counts."""
        allowed = self.kept if self.find_unused or self.static else ()
        numbers = [_LATE if i in self.late else int(count > 0 or i in allowed) for i, count in enumerate(self.seen)]
        numbers += [self.forwards, self.forwards**2]
        return self.group._core.all_reduce(_C.tensor(numbers, dtype=_C.int32), "sum").wait

    def _check_forwards(self, total, squares):
        # The variance is 0 if all have the same number.
        if self.group.size() * squares == total**2:
            return
        given, self.forwards = self.forwards, 0
        raise RuntimeError(
            f"DistributedDataParallel: ranks are in different iterations: {given} forwards on this rank, {total / self.group.size():.2f} on average. Nothing "
            "was averaged. Expected a backward on all ranks for each forward, or on none: a rank that leaves one out sends its next gradients in its place. "
            "Call model.module, or under no_grad, where one rank alone computes"
        )

    def _check(self, counts, seen):
        late = [name for name, count in zip(self.names, counts) if count >= _LATE]
        if late:
            raise RuntimeError(
                f"DistributedDataParallel: gradients of {', '.join(late)} came again after they had been sent (marked ready twice): a parameter is used in "
                "several backwards inside of one. Expected each gradient once in a backward; static_graph=True counts them first"
            )
        size = self.active
        missing = [i for i, count in enumerate(counts) if count < size]
        if missing and not (self.find_unused or self.static):
            here = [self.names[i] for i in missing if not seen[i]]
            elsewhere = [f"{self.names[i]} (on {size - counts[i]} of {size} ranks)" for i in missing if seen[i]]
            where = "; ".join(filter(None, [here and f"on this rank: {', '.join(here)}", elsewhere and f"elsewhere: {', '.join(elsewhere)}"]))
            raise RuntimeError(
                f"DistributedDataParallel: parameters without a gradient in this backward, {where}. Nothing was averaged. Expected gradients of all "
                "parameters on all ranks; find_unused_parameters=True counts zeros for those that are missing"
            )

    def _write(self, bucket, flat, counts):
        for position, parameter, average in zip(bucket.positions, bucket.parameters, bucket.split(flat)):
            if counts[position] == 0:
                continue
            if self.as_views or parameter.grad is None:
                parameter.grad = average if self.as_views else average.clone()
            else:
                parameter.grad.detach().copy_(average)


def _call(method, position, parameter):
    """A hook of a parameter, which may live longer than the reducer."""
    if (arrived := method()) is not None:
        arrived(position, parameter)


def _average(group, flat, divisor):
    """Begins to average a vector that nobody else has, in its own memory; a future of it."""
    request = group._core.all_reduce(flat, "sum", True)
    request.release()
    return _futures.Deferred(request.test, lambda: _divided(request.wait(), flat, divisor))


def _divided(result, flat, divisor):
    flat = flat if result is None else result
    return flat.div_(divisor) if divisor > 1 else flat


def _vector(result, bucket):
    """What a communication hook's future gave, as the vector of a bucket."""
    result = result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result
    count = sum(bucket.lengths)
    if not isinstance(result, _C.Tensor) or result.numel() != count:
        given = f"a tensor of {result.numel()} elements" if isinstance(result, _C.Tensor) else type(result).__name__
        raise _C.ShapeError(f"communication hook: the future gave {given}, expected a tensor of {count} elements")
    return result.to(bucket.parameters[0].dtype).reshape(-1)
