"""The end of a program of several processes: all leave together, or whoever fails tells the others why."""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import os
import sys
import time

from .. import _core
from ._errors import DistError
from ._state import _world

# Seconds that a rank stays after its error: launchers end all others when one has gone, and these have their own errors to show first.
_GRACE = 1.0


@functools.cache
def watch(process):
    """Watches how a process ends; once."""
    sys.excepthook = functools.partial(_failed, sys.excepthook)
    _world.process = process
    atexit.register(_leave)
    if multiprocessing.parent_process() is not None:
        # Forked ones call nothing that was registered.
        from multiprocessing.util import Finalize

        Finalize(None, _leave, exitpriority=0)


def _failed(show, kind, error, traceback):
    """An exception that ends the program: it is shown, then the other ranks are told, so that they do not wait."""
    show(kind, error, traceback)
    sys.stderr.flush()
    if tell(error):
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(_GRACE)


def tell(error) -> bool:
    """Tells the other ranks what ends this one, unless they know; whether there are any."""
    group, is_known = _world.group, _world.is_failing
    _world.is_failing = True
    if group is None or is_known or os.getpid() != _world.process:
        return False
    group._core.abort(f"{type(error).__name__}: {error}"[:300])
    return True


def _is_failure(error):
    return error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))


def _leave():
    """Leaves with all ranks, and ends MPI. After an error MPI is left as it is: the launcher ends the other processes when this one ends."""
    if os.getpid() != _world.process:
        return
    _core._ProcessGroup.stop()
    # Processes of multiprocessing end while what they raised is on its way.
    if _is_failure(error := sys.exc_info()[1]):
        tell(error)
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
