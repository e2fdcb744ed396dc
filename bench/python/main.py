"""Times opforge beside PyTorch, ONNX Runtime and candle, a process each, in turns, and writes what it finds to `RESULTS.md` and `plots/`.

Usage: main.py [--rounds N] [--seconds S] [--words W..]; with words, of cases whose names contain one, nothing is written."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import page
from results import Outcome, Speeds, duration, geometric_mean

HERE = pathlib.Path(__file__).parent
LIBRARIES = ("opforge", "torch", "onnx")
RUST = HERE.parent / "target" / "release" / "opforge-bench"


def child(*command):
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)} failed:\n{run.stderr}")
    return json.loads(run.stdout)


def measure(library, *options):
    return child(sys.executable, HERE / "measure.py", library, *options)


def rounds(asked):
    """The measurements of each library and round."""
    options = ["--seconds", asked.seconds, *(["--words", *asked.words] if asked.words else [])]
    found = {library: [] for library in LIBRARIES}
    for number in range(asked.rounds):
        for library in LIBRARIES:
            print(f"round {number + 1} of {asked.rounds}: {library}", end="    \r", file=sys.stderr, flush=True)
            found[library].append(measure(library, *options))
    return found


def outcomes(found):
    """A case each, with the median of each library's rounds."""
    seconds = {}
    for library, runs in found.items():
        for run in runs:
            for case in run:
                seconds.setdefault(case["name"], {}).setdefault(library, []).append(case["seconds"])
    medians = {name: {library: statistics.median(values) for library, values in by.items()} for name, by in seconds.items()}
    first = found["opforge"][0]
    return [Outcome(case["group"], case["name"], case["moved"], case["flops"], medians[case["name"]]) for case in first]


def show(cases, speeds):
    group = None
    for case in cases:
        if case.group != group:
            group = case.group
            print(f"\n{group:62}{'opforge':>10}{'PyTorch':>10}{'ratio':>8}{'floor':>8}")
        share = case.share(speeds)
        floor = "" if share is None else f"{share:.0%}"
        print(f"{case.name:62}{duration(case.ours):>10}{duration(case.torch):>10}{case.ratio:>8.2f}{floor:>8}")
        if "onnx" in case.seconds:
            print(f"{'    ONNX Runtime':62}{'':10}{duration(case.seconds['onnx']):>10}{case.seconds['onnx'] / case.ours:>8.2f}")
    large = [case.ratio for case in cases if case.group != "tiny calls"]
    print(f"\ngeometric mean of {len(cases)} ratios {geometric_mean([c.ratio for c in cases]):.2f}", end="")
    if large:
        print(f", without tiny calls {geometric_mean(large):.2f}, {sum(ratio < 0.95 for ratio in large)} of them below 0.95", end="")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--words", nargs="*", default=[])
    asked = parser.parse_args()
    rust = child(RUST, "--json", *asked.words)
    speeds = Speeds(**rust["ceilings"])
    cases = outcomes(rounds(asked))
    show(cases, speeds)
    if not asked.words:
        from cases.networks import STEPS

        memory = {name: {library: measure(library, "--memory", name) for library in LIBRARIES[:2]} for name in STEPS}
        page.write(HERE.parent, asked, cases, speeds, rust["cases"], memory)


if __name__ == "__main__":
    main()
