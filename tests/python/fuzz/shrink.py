"""From a call that fails to the simplest that fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from .calls import Call
from .drive import Child, Outcome, alone, line_of


def cause(outcome: Outcome) -> str:
    """What two failures of one cause have in common: the kind, and the text without its numbers and names of variables."""
    text = re.sub(r"0x[0-9a-f]+|\d+", "N", outcome.text)
    told = [line for line in text.splitlines() if line and "backtrace" not in line]
    return f"{outcome.kind}: {' '.join(told)[:160]}"


class Shrinker:
    """Tries simpler calls, in a child that lives as long as they let it."""

    def __init__(self, patience: float):
        self.patience = patience
        self.child: Child | None = None

    def outcome(self, call: Call) -> Outcome:
        self.child = self.child or Child()
        self.child.send(line_of(call))
        outcome = self.child.answer(self.patience)
        if outcome.kind in ("died", "hang"):
            self.child = None
        return outcome

    def candidates(self, call: Call) -> Iterator[Call]:
        """Simpler calls that are tried for a call."""
        return call.simpler()

    def shrink(self, call: Call, outcome: Outcome, seconds: float) -> tuple[Call, Outcome]:
        """The simplest call found in that time."""
        deadline, known = time.monotonic() + seconds, cause(outcome)
        simpler = self.candidates(call)
        while time.monotonic() < deadline and (candidate := next(simpler, None)):
            if cause(found := self.outcome(candidate)) == known:
                call, outcome, simpler = candidate, found, self.candidates(candidate)
        if self.child:
            self.child.close()
            self.child = None
        return call, outcome


def reproduce(call: Call, outcome: Outcome, patience: float, seconds: float) -> tuple[Call, Outcome, bool]:
    """A failure shrunk; and whether it shows in a process of its own."""
    again = alone(call, patience)
    if cause(again) != cause(outcome) and again.kind != outcome.kind:
        return call, outcome, False
    return *Shrinker(patience).shrink(call, again, seconds), True
