"""What a recording holds, and the tables and files of it."""

from __future__ import annotations

import dataclasses
import json
import os

__all__ = ["EventAverage", "EventList", "FunctionEvent", "FunctionEvents"]


@dataclasses.dataclass(frozen=True)
class FunctionEvent:
    """A kernel's run, or a range of the program's that `record_function` named. Times are in microseconds since recording began."""

    name: str
    start: float
    end: float
    thread: int
    nbytes: int = 0
    is_user_annotation: bool = False
    waited: float = 0.0
    """How long after its call the kernel began."""
    program: int | None = None
    """Kernels of one number ran as one; its time is shared out among them."""

    @property
    def cpu_time(self):
        return self.end - self.start


@dataclasses.dataclass
class EventAverage:
    """All events of one name. Times are in microseconds; the share is that of all kernels' time, and ranges have none."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    nbytes: int = 0
    is_user_annotation: bool = False
    share: float = 0.0

    @property
    def cpu_time(self):
        """The mean."""
        return self.cpu_time_total / self.count

    @property
    def self_cpu_time_total(self):
        """As `cpu_time_total`: kernels do not contain each other."""
        return 0.0 if self.is_user_annotation else self.cpu_time_total


_SORT_KEYS = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count", "nbytes", "key")


class EventList(list):
    """Averages, one a name, in the order in which the names first occurred."""

    def table(self, sort_by=None, row_limit=100):
        """A table for people; `row_limit=-1` shows all rows."""
        rows = list(self)
        if sort_by is not None:
            if sort_by not in _SORT_KEYS:
                raise ValueError(f"table(): sort_by must be one of {', '.join(_SORT_KEYS)}, not {sort_by!r}")
            rows.sort(key=lambda row: getattr(row, sort_by), reverse=sort_by != "key")
        rows = rows if row_limit < 0 else rows[:row_limit]
        cells = [("Name", "Calls", "CPU total", "CPU mean", "CPU %", "Bytes")]
        for row in rows:
            share = "" if row.is_user_annotation else f"{100 * row.share:.2f}%"
            cells.append((row.key, str(row.count), _time(row.cpu_time_total), _time(row.cpu_time), share, str(row.nbytes)))
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells]
        rule = "-" * max(map(len, lines))
        total = sum(row.self_cpu_time_total for row in self)
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Kernels' time: {_time(total)}"])

    def total_average(self):
        """All kernels together."""
        kernels = [row for row in self if not row.is_user_annotation]
        total = sum(row.cpu_time_total for row in kernels)
        return EventAverage("Total", sum(row.count for row in kernels), total, sum(row.nbytes for row in kernels), share=1.0)

    def __str__(self):
        return self.table()


def _time(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class FunctionEvents(list):
    """Events in the order of their beginnings."""

    def key_averages(self, group_by_input_shape=False, **options):
        """The events of each name together. Shapes are not recorded: the arguments are there for PyTorch's programs."""
        averages = {}
        for event in self:
            key = event.name, event.is_user_annotation
            average = averages.setdefault(key, EventAverage(event.name, is_user_annotation=event.is_user_annotation))
            average.count += 1
            average.cpu_time_total += event.cpu_time
            average.nbytes += event.nbytes
        total = sum(average.self_cpu_time_total for average in averages.values())
        for average in averages.values():
            average.share = average.self_cpu_time_total / total if total else 0.0
        return EventList(averages.values())

    @staticmethod
    def _arguments(event):
        if event.is_user_annotation:
            return {}
        program = {} if event.program is None else {"program": event.program}
        return {"bytes": event.nbytes, "waited_us": event.waited} | program

    def export_chrome_trace(self, path):
        """Writes a file that https://ui.perfetto.dev and chrome://tracing show: a row a thread, and the program's ranges above."""
        process = os.getpid()
        trace = [
            {
                "name": event.name,
                "cat": "user_annotation" if event.is_user_annotation else "kernel",
                "ph": "X",
                "pid": process,
                "tid": f"program {event.thread}" if event.is_user_annotation else event.thread,
                "ts": event.start,
                "dur": event.cpu_time,
                "args": self._arguments(event),
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ns", "traceEvents": trace}, file)
