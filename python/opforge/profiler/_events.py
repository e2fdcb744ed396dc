"""What a profile has recorded: events, their averages, and files of them."""

from __future__ import annotations

import dataclasses
import json
import os

@dataclasses.dataclass(frozen=True)
class FunctionEvent:
    """A kernel's run, a range of the program's that `record_function` named, or a call between processes, whose bytes are those that arrived. Times are in
    microseconds since recording began."""

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
    is_communication: bool = False

    @property
    def cpu_time(self):
        return self.end - self.start


@dataclasses.dataclass
class EventAverage:
    """All events of one name. Times are in microseconds; the share is that of all kernels' time, and what is no kernel has none."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    nbytes: int = 0
    is_user_annotation: bool = False
    share: float = 0.0
    is_communication: bool = False

    @property
    def is_kernel(self):
        """Whether it is neither a range of the program's nor a call between processes."""
        return not (self.is_user_annotation or self.is_communication)

    @property
    def cpu_time(self):
        """The mean over the events, in microseconds."""
        return self.cpu_time_total / self.count

    @property
    def self_cpu_time_total(self):
        """As `cpu_time_total`: kernels do not contain each other."""
        return self.cpu_time_total if self.is_kernel else 0.0


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
            share = f"{100 * row.share:.2f}%" if row.is_kernel else ""
            cells.append((row.key, str(row.count), _time(row.cpu_time_total), _time(row.cpu_time), share, str(row.nbytes)))
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells]
        rule = "-" * max(map(len, lines))
        total = sum(row.self_cpu_time_total for row in self)
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Kernels' time: {_time(total)}"])

    def total_average(self):
        """All kernels together."""
        kernels = [row for row in self if row.is_kernel]
        total = sum(row.cpu_time_total for row in kernels)
        return EventAverage("Total", sum(row.count for row in kernels), total, sum(row.nbytes for row in kernels), share=1.0)

    def __str__(self):
        return self.table()


def _time(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


@dataclasses.dataclass(frozen=True)
class Communication:
    """What calls between processes took of a recording."""

    count: int
    nbytes: int
    """Bytes that arrived at this process."""
    time: float
    """Microseconds during which such a call was under way, its waiting for other processes included."""
    hidden: float
    """The part of this time, from 0 to 1, during which kernels ran too."""


class FunctionEvents(list):
    """Events in the order of their beginnings."""

    def communication(self):
        """What calls between processes took, and how much of it was hidden behind kernels.

        >>> with opforge.profiler.profile() as prof:
        ...     x = opforge.ones(3).exp()
        >>> prof.events().communication()
        Communication(count=0, nbytes=0, time=0, hidden=0.0)
        """
        calls = [event for event in self if event.is_communication]
        spans = _union((event.start, event.end) for event in calls)
        kernels = _union((event.start, event.end) for event in self if not (event.is_communication or event.is_user_annotation))
        time = sum(end - start for start, end in spans)
        hidden = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in _neighbours(spans, kernels))
        return Communication(len(calls), sum(event.nbytes for event in calls), time, hidden / time if time else 0.0)

    def key_averages(self, group_by_input_shapes=False, **options):
        """The events of each name together."""
        averages = {}
        for event in self:
            kind = event.is_user_annotation, event.is_communication
            average = averages.setdefault((event.name, *kind), EventAverage(event.name, is_user_annotation=kind[0], is_communication=kind[1]))
            average.count += 1
            average.cpu_time_total += event.cpu_time
            average.nbytes += event.nbytes
        total = sum(average.self_cpu_time_total for average in averages.values())
        for average in averages.values():
            average.share = average.self_cpu_time_total / total if total else 0.0
        return EventList(averages.values())

    @staticmethod
    def _place(event):
        """Category and row of an event."""
        if event.is_user_annotation:
            return {"cat": "user_annotation", "tid": f"program {event.thread}"}
        return {"cat": "communication", "tid": "communication"} if event.is_communication else {"cat": "kernel", "tid": event.thread}

    @staticmethod
    def _arguments(event):
        if event.is_user_annotation:
            return {}
        program = {} if event.program is None else {"program": event.program}
        return {"bytes": event.nbytes, "waited_us": event.waited} | program

    def export_chrome_trace(self, path):
        """Writes a file as `profile.export_chrome_trace` does."""
        process = os.getpid()
        trace = [
            {
                "name": event.name,
                "ph": "X",
                "pid": process,
                **self._place(event),
                "ts": event.start,
                "dur": event.cpu_time,
                "args": self._arguments(event),
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ns", "traceEvents": trace}, file)


def _union(spans):
    """Spans of time that do not overlap, in order, with the same moments."""
    union = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        else:
            union.append((start, end))
    return union


def _neighbours(left, right):
    """Pairs of spans of two unions, among them all that overlap."""
    i = j = 0
    while i < len(left) and j < len(right):
        yield left[i], right[j]
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
