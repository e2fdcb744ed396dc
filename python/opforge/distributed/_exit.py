"""The end of a program of several processes: all leave together, or whoever fails tells the others why."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import time

from .. import _core
from ._errors import DistError
from ._state import _world

# Seconds that a rank stays after its error: launchers end all others when one has gone, and these have their own errors to show first.
_GRACE = 1.0


@functools.cache
def watch():
    """Watches how the interpreter ends; once."""
    sys.excepthook = functools.partial(_failed, sys.excepthook)
    _world.process = os.getpid()
    atexit.register(_leave)


def _failed(show, kind, error, traceback):
    """An exception that ends the program: it is shown, then the other ranks are told, so that they do not wait."""
    show(kind, error, traceback)
    sys.stderr.flush()
    group = _world.group
    if group is not None and not _world.is_failing and os.getpid() == _world.process:
        _world.is_failing = True
        group._core.abort(f"{kind.__name__}: {error}"[:300])
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(_GRACE)
    _world.is_failing = True


def _leave():
    """Leaves with all ranks and ends MPI. After an error MPI is left as it is: the launcher ends the other processes when this one ends."""
    if os.getpid() != _world.process:
        return
    _core._ProcessGroup.stop()
    if _world.is_failing:
        return
    group, first = _world.group, _world.first
    _world.group, _world.groups = None, {}
    try:
        if group is not None:
            group._core.close()
        if first is not None:
            first.finish()
    except DistError as error:
        print(f"opforge.distributed, at exit: {error}", file=sys.stderr)
        sys.stderr.flush()
