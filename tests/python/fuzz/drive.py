"""The parent: feeds programs to a child, and finds the one that a child died of or hangs in."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pathlib
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from .calls import Call

# Bytes that tensors and everything else may take in a child.
MEMORY = 2**30
# How many programs a child has ahead of it and their bytes, less than pipes hold, so that neither waits for the other; and how many it runs in its life.
AHEAD, BYTES, LIFE = 16, 2**15, 20_000
# Panics without backtraces, which would hide what a process said last.
QUIET = {**os.environ, "RUST_BACKTRACE": "0"}
# How a call may end.
FINE = ("fine", "refused", "interrupted", "unbuilt")


@dataclass(frozen=True)
class Outcome:
    kind: str
    # What is known of it; an observation where that is what the child tells.
    text: Any = ""

    @property
    def failed(self) -> bool:
        return self.kind not in FINE


COMMAND = [sys.executable, str(pathlib.Path(__file__).with_name("child.py")), str(MEMORY)]


class Child:
    """A process that runs programs, by default on opforge alone."""

    def __init__(self, command: list[str] = COMMAND) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the child)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0, env=QUIET)
        # What has come, and how much of it is known to hold no end of a line.
        self.unread, self.searched = bytearray(), 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def send(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # It is dead then, which the next answer tells.
            self.process.stdin.write(line)

    def answer(self, seconds: float) -> Outcome:
        """How the next program ended; `died` and `hang` end the child too."""
        deadline = time.monotonic() + seconds
        while (end := self.unread.find(b"\n", self.searched)) < 0:
            self.searched = len(self.unread)
            if not self.selector.select(max(0, deadline - time.monotonic())):
                self.close()
                return Outcome("hang", f"nothing came within {seconds:.0f} s")
            if not (part := os.read(self.process.stdout.fileno(), 1 << 16)):
                return Outcome("died", self.last_words())
            self.unread += part
        line = self.unread[:end]
        del self.unread[: end + 1]
        self.searched = 0
        return Outcome(*json.loads(line))

    def last_words(self) -> str:
        status = self.process.wait()
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")[-2000:]
        self.close()
        return f"exit status {status}: {text}"

    def end(self) -> Outcome:
        """Lets the child end by itself, when it has answered all that it was sent."""
        self.process.stdin.close()
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.close()
            return Outcome("hang", "at the end of the process")
        words = self.last_words()
        return Outcome("died", f"at the end of the process, {words}") if status else Outcome("fine")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.selector.close()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            file.close()


def line_of(call: Call) -> bytes:
    return json.dumps(call.program().data()).encode() + b"\n"


def run(calls: Iterable[Call], patience: float) -> Iterator[tuple[Call, Outcome]]:
    """Runs calls in children, one after another; each outcome as soon as it is known."""
    rest = iter(calls)
    while life := list(itertools.islice(rest, LIFE)):
        yield from _run_in_one(life, patience)


def _run_in_one(calls: list[Call], patience: float) -> Iterator[tuple[Call, Outcome]]:
    """As [`run`], in one child unless it dies."""
    child, last = Child(), calls[-1]
    todo, waiting = deque(calls), deque()
    while todo or waiting:
        while todo and len(waiting) < AHEAD and sum(map(len, (line for _, line in waiting))) < BYTES:
            waiting.append((todo[0], line_of(todo.popleft())))
            child.send(waiting[-1][1])
        outcome = child.answer(patience)
        yield waiting.popleft()[0], outcome
        if outcome.kind in ("died", "hang"):
            child = Child()
            for _, line in waiting:
                child.send(line)
    if (ended := child.end()).failed:
        yield last, ended


def alone(call: Call, patience: float) -> Outcome:
    """How a call ends in a process of its own."""
    child = Child()
    child.send(line_of(call))
    outcome = child.answer(patience)
    if outcome.kind in ("died", "hang"):
        return outcome
    ended = child.end()
    return ended if ended.failed and not outcome.failed else outcome
