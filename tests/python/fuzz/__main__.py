"""The operator fuzzer: `python tests/python/fuzz --seed 1 --minutes 5`.

Calls every function with arguments drawn from a seed, in child processes with 1 GiB of memory. A call fails if the process dies or hangs, if a panic or an
unusual exception comes out, if an argument is changed or shared that should not be, or if a gradient does not fit its leaf. Each cause is told once,
shrunk to a program that stands alone.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import threading
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path[:] = [folder for folder in sys.path if folder != str(pathlib.Path(__file__).parent)]

from fuzz.calls import Call  # noqa: E402
from fuzz.drive import Outcome, run  # noqa: E402
from fuzz.shrink import cause, reproduce  # noqa: E402


class Campaign:
    """What some threads, each with a child, find out."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.stretched = 0
        self.causes: Counter[str] = Counter()
        self.deadline = time.monotonic() + 60 * options.minutes

    def numbers(self, job: int) -> range:
        """A job's part, which holds its share of the stretched calls."""
        first, last = (self.options.calls * j // self.options.jobs for j in (job, job + 1))
        return range(self.options.start + first, self.options.start + last)

    def work(self, job: int) -> None:
        from fuzz.generate import calls

        share = self.options.stretched / self.options.calls
        drawn = (call for call in calls(self.options.seed, self.numbers(job), share, self.options.only) if self.goes_on())
        for call, outcome in run(drawn, self.options.hang):
            self.count(call, outcome)
            if not self.goes_on():
                return

    def goes_on(self) -> bool:
        return time.monotonic() < self.deadline

    def count(self, call: Call, outcome: Outcome) -> None:
        with self.lock:
            self.counts[outcome.kind] += 1
            self.stretched += call.stretched
            if not outcome.failed:
                return
            self.causes[known := f"{call.name}: {cause(outcome)}"] += 1
            if self.causes[known] > 1:
                return
        shrunk, outcome, alone = reproduce(call, outcome, self.options.hang, self.options.shrink)
        with self.lock:
            remark = "" if alone else "# Seen after other calls only.\n"
            print(f"FAILED {call.name}: {outcome.kind}: {outcome.text[:1500]}\n{remark}{shrunk.program().text()}\n", flush=True)

    def figures(self, seconds: float) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts.most_common())
        return f"{self.counts.total()} calls, {self.stretched} of them stretched, in {seconds:.0f} s: {kinds}; {len(self.causes)} causes of failure"


def main() -> int:
    parser = argparse.ArgumentParser("fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=10**6, help="the most calls")
    parser.add_argument("--stretched", type=int, default=None, help="how many of them over tensors of 2^26 to 2^36 elements (a tenth)")
    parser.add_argument("--minutes", type=float, default=5.0, help="at most so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="child processes at a time")
    parser.add_argument("--start", type=int, default=0, help="the first call's number")
    parser.add_argument("--only", default="", help="one function's name in the catalogue")
    parser.add_argument("--hang", type=float, default=30.0, help="seconds after which a call hangs")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to simplify a failure")
    options = parser.parse_args()
    options.stretched = options.calls // 10 if options.stretched is None else options.stretched
    campaign, start = Campaign(options), time.monotonic()
    workers = [threading.Thread(target=campaign.work, args=(job,)) for job in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(campaign.figures(time.monotonic() - start))
    return 1 if campaign.causes else 0


if __name__ == "__main__":
    sys.exit(main())
