"""Which steps of a program a profile records, and where its traces are written."""

from __future__ import annotations

import enum
import gzip
import os
import shutil
import socket
import time


class ProfilerAction(enum.Enum):
    """What a profile does in a step: records in RECORD, and ends a recording after RECORD_AND_SAVE."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from a step's number to its action, for `profile`: `skip_first` steps of nothing, then `repeat` rounds (0: on and on) of `wait` steps of
    nothing, `warmup` steps that could be recorded, and `active` that are. With `skip_first_wait` the first round does not wait.
    """
    if min(wait, warmup, active, repeat, skip_first) < 0 or active == 0:
        raise ValueError("schedule(): wait, warmup, repeat and skip_first must not be negative, and active must be positive")

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        rounds, place = divmod(step, wait + warmup + active)
        if repeat and rounds >= repeat or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A function for `profile(on_trace_ready=..)` that writes each trace into a folder, as TensorBoard looks for it."""
    os.makedirs(dir_name, exist_ok=True)
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(prof):
        path = os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json")
        prof.export_chrome_trace(path)
        if use_gzip:
            with open(path, "rb") as text, gzip.open(f"{path}.gz", "wb") as file:
                shutil.copyfileobj(text, file)
            os.remove(path)

    return write
