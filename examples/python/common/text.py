"""Text files, a sentence a line, and a bar that shows how far a program has come."""

import pathlib
import sys
import time

from .command import UserError


def read_lines(path):
    """The lines of a text file in UTF-8; an error if there are none."""
    data = pathlib.Path(path).read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: byte {error.start}") from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if not any(line.strip() for line in lines):
        raise UserError(f"{path} is empty")
    return lines


class Progress:
    """A line on stderr that is written over as work is done; nothing where stderr is no terminal."""

    def __init__(self, total, unit):
        self.total, self.unit, self.done = total, unit, 0
        self.start = self.shown = time.monotonic()

    def add(self, count, note=""):
        """Counts work as done; shown ten times a second at most, and when all is done."""
        self.done += count
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self.shown < 0.1 and self.done < self.total:
            return
        self.shown = now
        end = "\n" if self.done >= self.total else ""
        rate = self.done / max(now - self.start, 1e-9)
        print(f"\r{self.done}/{self.total} {self.unit}, {rate:.0f}/s {note}\x1b[K", end=end, file=sys.stderr, flush=True)
