"""New interpreters that `multiprocessing` starts: torch means opforge in them as well, as it does in forked processes."""

from __future__ import annotations

import multiprocessing.spawn
import pathlib


class _Inherited:
    """Unpickled, it makes torch mean opforge. That comes first in a new interpreter, before the program's main module is imported there."""

    def __reduce__(self):
        package = str(pathlib.Path(__file__).parents[2])
        return exec, (f"import sys; {package!r} in sys.path or sys.path.append({package!r}); import opforge.as_torch",)


def inherit():
    """Has processes that are started from now on inherit what torch means."""
    of_process = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name):
        return {"opforge.as_torch": _Inherited()} | of_process(name)

    multiprocessing.spawn.get_preparation_data = get_preparation_data
