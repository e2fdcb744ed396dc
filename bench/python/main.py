"""Times opforge next to PyTorch, in turns in one process each, so that both see the same machine. Prints medians and their ratio."""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROUNDS = 3


def run(library):
    """The seconds of each case: one process of the library's, so that their thread pools do not meet."""
    out = subprocess.run([sys.executable, HERE / "cases.py", library], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def median(values):
    return sorted(values)[len(values) // 2]


def duration(seconds):
    unit, scale = next((u, s) for u, s in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)) if seconds >= s or u == "ns")
    return f"{seconds / scale:.3g} {unit}"


def main():
    rounds = [(run("opforge"), run("torch")) for _ in range(ROUNDS)]
    print(f"{'':46}{'opforge':>10}{'PyTorch':>10}{'PyTorch / opforge':>20}")
    for name in rounds[0][0]:
        ours, theirs = (median([r[i][name] for r in rounds]) for i in (0, 1))
        print(f"{name:46}{duration(ours):>10}{duration(theirs):>10}{theirs / ours:>19.2f}x")


if __name__ == "__main__":
    main()
