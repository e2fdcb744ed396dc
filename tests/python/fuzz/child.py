"""A process that runs programs: `python child.py LIMIT` reads one a line and answers a line for each, so that what it dies of is known."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import resource
import signal
import sys
import warnings

import numpy  # noqa: F401 (so that no call is interrupted while it imports)

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import opforge as torch  # noqa: E402
from fuzz.calls import Program  # noqa: E402
from fuzz.check import Runner  # noqa: E402


def confine(limit: int) -> None:
    """Bounds the memory, for tensors and for anything else, and ends with the parent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    torch.set_memory_limit(limit // 2)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def said() -> str:
    """What a call has written to standard error (a file of the parent's), which no call should."""
    if os.fstat(2).st_size == 0:
        return ""
    text = os.pread(2, 4000, 0).decode(errors="replace")
    os.ftruncate(2, 0)
    os.lseek(2, 0, os.SEEK_SET)
    return text


def main(limit: int) -> None:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    confine(limit)
    runner = Runner()
    for line in sys.stdin:
        kind, text = runner.run(Program(**json.loads(line)))
        if words := said():
            kind, text = ("panic" if "panicked" in words else "error" if kind in ("fine", "refused") else kind), f"on standard error: {words} {text}"
        os.write(answers, json.dumps([kind, text[:2000]]).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
