"""Times opforge beside PyTorch on one GPU, a process each, in turns: `gpu.py [--rounds N] [--seconds S] [--words W..] [--write FILE]`.

Both libraries run the same functions of `cases/gpu.py`. The GPU's own speed is what a copy of 1 GiB (bytes read and written) and a product of two matrices of
8192x8192 in bf16 reach by PyTorch in the same run."""

import argparse
import importlib
import json
import pathlib
import statistics
import subprocess
import sys

import time

from case import clock
from results import Outcome, Speeds, duration, geometric_mean

LIBRARIES = ("opforge", "torch")
LONG = 0.1


def duration_of(call, settle, seconds):
    """The median seconds of a call; of one that takes long one is enough. Kernels are compiled in the first calls."""
    for _ in range(4):
        call(), settle()
    start = time.perf_counter()
    call(), settle()
    once = time.perf_counter() - start
    return once if once > LONG else clock(call, settle, seconds)


def timed(library, asked):
    """The cases of a library with their seconds, and the GPU's speeds where it is PyTorch."""
    torch = importlib.import_module(library)
    from cases import gpu

    found = []
    for name, make in gpu.CASES.items():
        if asked.words and not any(word in name for word in asked.words):
            continue
        try:
            case = make(torch)
            seconds = duration_of(case.call, torch.cuda.synchronize, asked.seconds)
            found.append({"name": name, "seconds": seconds, "moved": case.moved, "flops": case.flops})
        except Exception as error:  # One case that fails hides no other.
            print(f"{library}: {name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
    speeds = gpu.speeds(torch, asked.seconds) if library == "torch" else None
    return {"cases": found, "speeds": speeds, "device": torch.cuda.get_device_name(), "version": str(torch.__version__)}


def child(library, asked):
    command = [sys.executable, __file__, "--child", library, "--seconds", str(asked.seconds)]
    run = subprocess.run([*command, *(["--words", *asked.words] if asked.words else [])], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{library} failed")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--words", nargs="*", default=[])
    parser.add_argument("--write", help="a file for the table, in Markdown")
    parser.add_argument("--child", choices=LIBRARIES)
    asked = parser.parse_args()
    if asked.child:
        return json.dump(timed(asked.child, asked), sys.stdout)
    runs = {library: [] for library in LIBRARIES}
    for _ in range(asked.rounds):
        for library in LIBRARIES:
            runs[library].append(child(library, asked))
    seconds = {}
    for library, found in runs.items():
        for case in (case for run in found for case in run["cases"]):
            seconds.setdefault(case["name"], {}).setdefault(library, []).append(case["seconds"])
    known = {case["name"]: case for run in runs["torch"] for case in run["cases"]}
    speeds = Speeds(**runs["torch"][-1]["speeds"])
    names = [name for name, by in seconds.items() if len(by) == len(LIBRARIES)]
    medians = {name: {library: statistics.median(values) for library, values in seconds[name].items()} for name in names}
    outcomes = [Outcome("", name, known[name]["moved"], 0, medians[name]) for name in names]
    head = f"{runs['torch'][0]['device']}, beside PyTorch {runs['torch'][0]['version']}, medians of {asked.rounds} rounds. "
    head += f"Copies reach {speeds.copy / 1e12:.2f} TB/s there, products in bf16 {speeds.flops / 1e12:.0f} TFLOP/s."
    lines = [head, "", "| | opforge | PyTorch | ratio | of a copy's speed |", "|---|---:|---:|---:|---:|"]
    for case in outcomes:
        share = f"{case.share(speeds):.0%}" if case.moved > 1 << 20 else ""
        lines.append(f"| {case.name} | {duration(case.ours)} | {duration(case.torch)} | {case.ratio:.2f} | {share} |")
    ratios = [case.ratio for case in outcomes]
    lines += ["", f"Geometric mean of {len(ratios)} ratios {geometric_mean(ratios):.2f}; {sum(ratio < 0.95 for ratio in ratios)} are below 0.95."]
    print("\n".join(lines))
    if asked.write:
        pathlib.Path(asked.write).write_text("# Speed on a GPU\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
