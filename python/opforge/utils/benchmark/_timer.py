"""`Timer` runs a statement many times and `Measurement` tells how long it took."""

from __future__ import annotations

import dataclasses
import statistics
import timeit
from time import perf_counter

from ... import _core


@dataclasses.dataclass
class Measurement:
    """Times of a statement: seconds that each sample of `number_per_run` runs took."""

    number_per_run: int
    raw_times: list[float]
    stmt: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: int = 1

    @property
    def times(self) -> list[float]:
        """Seconds of a run, for each sample."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean seconds of a run."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median seconds of a run."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The seconds between the quartiles."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self):
        title = self.label or self.stmt
        detail = f"{len(self.raw_times)} measurements, {self.number_per_run} runs per measurement, {self.num_threads} threads"
        return f"{title}\n  Median: {self.median * 1e6:.2f} us\n  IQR: {self.iqr * 1e6:.2f} us\n  {detail}"


class Timer:
    """Times a Python statement, run with `num_threads` threads and waited for.

    >>> Timer("x + 1", globals={"x": opforge.ones(10)}).timeit(100).median < 1
    True
    """

    def __init__(
        self, stmt="pass", setup="pass", global_setup="", timer=perf_counter, globals=None, label=None, sub_label=None, description=None,
        env=None, num_threads=1, language="python",
    ):  # fmt: skip
        if str(language).lower() not in ("python", "py"):
            raise NotImplementedError("Timer: only statements of Python are timed")
        self._statement, self._threads = stmt, num_threads
        self._labels = {"stmt": stmt, "label": label, "sub_label": sub_label, "description": description, "num_threads": num_threads}
        scope = {"torch": __import__("opforge"), **(globals or {}), "_synchronize": _core.synchronize}
        self._timer = timeit.Timer(f"{stmt}", setup, timer, scope)

    def _run(self, number):
        """The seconds of some runs, until their results are there."""
        before = _core.get_num_threads()
        _core.set_num_threads(self._threads)
        try:
            start = perf_counter()
            self._timer.timeit(number)
            _core.synchronize()
            return perf_counter() - start
        finally:
            _core.set_num_threads(before)

    def timeit(self, number=1000000) -> Measurement:
        """One sample of `number` runs, after a hundredth as many."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], **self._labels)

    def blocked_autorange(self, callback=None, min_run_time=0.2) -> Measurement:
        """Samples of as many runs as take a millisecond or more, for `min_run_time` seconds."""
        number, seconds = 1, self._run(2)
        while seconds < 1e-3:
            number *= 10
            seconds = self._run(number)
        times = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
        return Measurement(number, times, **self._labels)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None) -> Measurement:
        """`blocked_autorange` until the quartiles are within `threshold` of the median, or `max_run_time` seconds are over."""
        result = self.blocked_autorange(min_run_time=min_run_time)
        while result.iqr > threshold * result.median and sum(result.raw_times) < max_run_time:
            result.raw_times += self.blocked_autorange(min_run_time=min_run_time).raw_times
        return result
