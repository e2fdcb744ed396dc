"""Two processes, one with PyTorch and one with opforge, that run the same programs."""

from __future__ import annotations

import pathlib
import sys
from collections import deque
from collections.abc import Iterable, Iterator

from fuzz.calls import Call
from fuzz.declared import arrays
from fuzz.drive import BYTES, Child, Outcome, line_of
from fuzz.shrink import Shrinker

from .compare import Difference, difference
from .known import LOOSE

# Bytes that a process may take, and how many programs it has ahead of it.
MEMORY, AHEAD = 6 * 2**30, 8


class Side:
    """A process with one library, which is begun again when a program ends it."""

    def __init__(self, interpreter: str, library: str, patience: float):
        self.command = [interpreter, str(pathlib.Path(__file__).with_name("observe.py")), library, str(MEMORY)]
        self.patience, self.child = patience, None
        self.waiting: deque[bytes] = deque()

    def send(self, line: bytes) -> None:
        self.child = self.child or Child(self.command)
        self.waiting.append(line)
        self.child.send(line)

    def answer(self) -> dict:
        outcome = self.child.answer(self.patience)
        self.waiting.popleft()
        if outcome.kind == "fine":
            return outcome.text
        self.child = Child(self.command) if self.waiting else None
        for line in self.waiting:
            self.child.send(line)
        return {"kind": outcome.kind, "error": outcome.text}

    def close(self) -> None:
        if self.child:
            self.child.close()


class Pair:
    """Both sides."""

    def __init__(self, interpreter: str, patience: float):
        self.sides = Side(interpreter, "torch", patience), Side(sys.executable, "opforge", patience)

    def compared(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Difference | None, str]]:
        """Calls, what differs in each, and how each ended there and here."""
        rest, waiting = iter(calls), deque()
        while True:
            while len(waiting) < AHEAD and sum(map(len, self.sides[0].waiting)) < BYTES and (call := next(rest, None)):
                waiting.append(call)
                for side in self.sides:
                    side.send(line_of(call))
            if not waiting:
                return
            theirs, ours = (side.answer() for side in self.sides)
            call = waiting.popleft()
            yield call, difference(theirs, ours, not LOOSE.fullmatch(call.name)), f"{theirs['kind']}, here {ours['kind']}"

    def close(self) -> None:
        for side in self.sides:
            side.close()


class PairShrinker(Shrinker):
    """Tries simpler calls on both sides."""

    def __init__(self, pair: Pair):
        super().__init__(0.0)
        self.pair = pair

    def candidates(self, call: Call) -> Iterator[Call]:
        """Without tensors made empty: many a call succeeds on these alone."""
        return (simpler for simpler in call.simpler() if _empty(simpler) <= _empty(call))

    def outcome(self, call: Call) -> Outcome:
        ((_, found, _),) = self.pair.compared([call])
        return outcome_of(found)


def _empty(call: Call) -> int:
    return sum(0 in array.shape for argument in call.arguments for array in arrays(argument.value))


def outcome_of(found: Difference | None) -> Outcome:
    return Outcome(found.kind, found.cause) if found else Outcome("fine")
