"""Times one library's cases in a process of its own: `measure.py opforge|torch|onnx [--seconds S] [--words W..] [--memory NAME]`.

Prints JSON: the median seconds of each case whose name contains one of the words, with its group and its least work; or, with `--memory`, by
how many bytes the process has grown at most while a case ran five times."""

import argparse
import importlib
import json
import pathlib
import sys

from case import clock


def groups(library):
    """The groups of a library, and what waits until its work is done."""
    if library == "onnx":
        import onnx_encoder

        return {"networks": onnx_encoder.cases()}, lambda: None
    torch = importlib.import_module(library)
    torch.set_num_threads(2)
    from cases import GROUPS

    return {name: group(torch) for name, group in GROUPS.items()}, getattr(torch, "synchronize", lambda: None)


def held(what):
    """The bytes of physical memory that the process holds (`VmRSS`), or has held at most (`VmHWM`)."""
    line = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def grown(library, name):
    torch = importlib.import_module(library)
    torch.set_num_threads(2)
    from cases.networks import STEPS

    step = STEPS[name](torch)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # The most begins anew.
    before = held("VmRSS")
    for _ in range(5):
        step()
    getattr(torch, "synchronize", lambda: None)()
    return held("VmHWM") - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--words", nargs="*", default=[])
    parser.add_argument("--memory")
    asked = parser.parse_args()
    if asked.memory:
        return json.dump(grown(asked.library, asked.memory), sys.stdout)
    found, settle = groups(asked.library)
    wanted = [
        (group, name, case)
        for group, cases in found.items()
        for name, case in cases.items()
        if not asked.words or any(word in name for word in asked.words)
    ]
    json.dump(
        [
            {"group": group, "name": name, "seconds": clock(case.call, settle, asked.seconds), "moved": case.moved, "flops": case.flops}
            for group, name, case in wanted
        ],
        sys.stdout,
    )


if __name__ == "__main__":
    main()
