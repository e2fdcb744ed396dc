"""Which steps of a program are recorded, and where the recordings are written."""

from __future__ import annotations

import enum
import gzip
import os
import pathlib
import shutil
import socket
import tempfile
import time

__all__ = ["ProfilerAction", "always", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(enum.Enum):
    """What a profile does in a step. Nothing needs to be warmed up here: a step for that is not recorded."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)

    @property
    def records(self) -> bool:
        """Whether the step is recorded."""
        return self in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def always(step) -> ProfilerAction:
    """The schedule that records all steps as one."""
    return ProfilerAction.RECORD


_default_schedule_fn = always


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0):
    """A schedule of cycles: `wait` steps without recording, `warmup` steps, and `active` steps that are recorded as one.

    It begins after `skip_first` steps, without the first cycle's waiting if `skip_first_wait` is not 0, and ends after `repeat` cycles (0: never).
    Raises ValueError for negative numbers and for no active steps.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(f"schedule(): {wait=}, {warmup=}, {active=}, {repeat=}, {skip_first=} (accepted: active from 1, others from 0)")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        place = step % cycle
        if (repeat and step // cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False):
    """An `on_trace_ready` that writes each recording to a file of its own, `<worker>.<time>.pt.trace.json`, where TensorBoard's plugin looks for it.

    The folder is made when it is missing; the worker's default name is that of the machine and the process.
    """

    def write(prof):
        folder = pathlib.Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{worker_name or f'{socket.gethostname()}_{os.getpid()}'}.{time.time_ns()}.pt.trace.json"
        if not use_gzip:
            return prof.export_chrome_trace(path)
        with tempfile.TemporaryDirectory() as other:
            plain = pathlib.Path(other) / "trace"
            prof.export_chrome_trace(plain)
            with plain.open("rb") as text, gzip.open(f"{path}.gz", "wb") as file:
                shutil.copyfileobj(text, file)

    return write
