"""Compares opforge with PyTorch, call by call: `python tests/python/differential path/to/python --seed 1 --minutes 10`.

The interpreter has PyTorch. Calls that users make are drawn from a seed out of opforge's signatures and sample calls, and run in a process with each
library. What differs is told once for each function and cause, worst first, with the simplest call that shows it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path[:] = [folder for folder in sys.path if folder != str(pathlib.Path(__file__).parent)]

from differential.compare import KINDS, MINOR, Difference  # noqa: E402
from differential.generate import NAMES, call  # noqa: E402
from differential.known import reason  # noqa: E402
from differential.pair import Pair, PairShrinker, outcome_of  # noqa: E402
from fuzz.calls import Call  # noqa: E402


class Comparison:
    """What differs, by function and cause."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.pair = Pair(os.path.abspath(options.interpreter), options.hang)
        self.ends: Counter[str] = Counter()
        self.found: dict[tuple[str, str, str], tuple[Call, Difference]] = {}
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.meant: Counter[str] = Counter()
        self.deadline = time.monotonic() + 60 * options.minutes

    def calls(self):
        names = [name for name in NAMES if name in self.options.only] if self.options.only else [""]
        for number in range(self.options.start, self.options.start + self.options.calls):
            if time.monotonic() > self.deadline:
                return
            yield call(self.options.seed, number, names[number % len(names)], self.options.long)

    def run(self) -> None:
        for drawn, difference, ends in self.pair.compared(self.calls()):
            self.ends[ends] += 1
            if difference is None or (difference.kind in MINOR and not self.options.all):
                continue
            if meant := reason(drawn.name, difference, drawn.program().text()):
                self.meant[meant] += 1
                continue
            self.counts[key := (drawn.name, difference.kind, difference.cause)] += 1
            self.found.setdefault(key, (drawn, difference))
        self.pair.close()

    def tell(self) -> None:
        order = sorted(self.found.items(), key=lambda item: (KINDS.index(item[1][1].kind), item[0]))
        pair = Pair(os.path.abspath(self.options.interpreter), self.options.hang)
        for key, (drawn, difference) in order:
            shrunk, _ = PairShrinker(pair).shrink(drawn, outcome_of(difference), self.options.shrink)
            ((_, again, _),) = pair.compared([shrunk])
            again = again or difference
            program = shrunk.program()
            lines = [f"    {name} = {source}" for name, source in program.setup]
            print(f"{again.kind.upper()} {drawn.name} ({self.counts[key]} calls): {again.detail or again.cause}", *lines, f"    {program.call}", sep="\n", flush=True)
        pair.close()


def main() -> int:
    parser = argparse.ArgumentParser("differential", description=__doc__.split("\n")[0])
    parser.add_argument("interpreter", help="a Python that has PyTorch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=10**7, help="the most calls")
    parser.add_argument("--minutes", type=float, default=5.0, help="at most so long, without the time to simplify")
    parser.add_argument("--start", type=int, default=0, help="the first call's number")
    parser.add_argument("--only", nargs="*", default=[], help="functions' names in the catalogue")
    parser.add_argument("--long", action="store_true", help="tensors of up to 200,000 elements")
    parser.add_argument("--hang", type=float, default=20.0, help="seconds after which a call hangs")
    parser.add_argument("--shrink", type=float, default=3.0, help="seconds to simplify a difference")
    parser.add_argument("--all", action="store_true", help="tell also " + " and ".join(MINOR))
    comparison = Comparison(options := parser.parse_args())
    start = time.monotonic()
    comparison.run()
    seconds = time.monotonic() - start
    comparison.tell()
    ends = "; ".join(f"{count} {end}" for end, count in comparison.ends.most_common())
    print(f"{comparison.ends.total()} calls of seed {options.seed} in {seconds:.0f} s: {ends}")
    print(f"{len(comparison.found)} causes of differences; {comparison.meant.total()} calls differ as they are meant to")
    return 1 if comparison.found else 0


if __name__ == "__main__":
    sys.exit(main())
