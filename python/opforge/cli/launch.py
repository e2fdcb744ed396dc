"""Starting a program as several processes, by the launcher of an MPI."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

# Variables by which launchers number their processes, and PyTorch's names for them.
_RANK = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")
# The file in which the first process that fails says why.
_FIRST_ERROR = "OPFORGE_FIRST_ERROR"


def find_launcher():
    """The `mpiexec` beside the interpreter, or the one on PATH. Raises FileNotFoundError where there is none."""
    beside = pathlib.Path(sys.executable).parent / "mpiexec"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if found is None:
        raise FileNotFoundError(f"run: there is no mpiexec beside {sys.executable} or on PATH: pip install mpich")
    return found


def launch(processes, arguments) -> int:
    """Runs `opforge run` with these arguments in so many processes; the launcher's exit status, which is that of the first that failed. What ended that one is said last,
    since errors that it caused elsewhere may have been shown before its own."""
    command = [find_launcher(), "-n", str(processes), sys.executable, "-m", "opforge", "run", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder) / "first"
        status = _wait(subprocess.Popen(command, env=os.environ | {_FIRST_ERROR: str(first)}))
        if status and first.exists():
            print(f"opforge run: {first.read_text()}", file=sys.stderr)
    return status


def _wait(child) -> int:
    while True:
        try:
            status = child.wait()
            return 128 - status if status < 0 else status
        except KeyboardInterrupt:
            # The launcher is told by the terminal too, and ends the processes.
            continue


@contextlib.contextmanager
def noted():
    """Leaves word of the error that ends what is done meanwhile, unless another process of the same launcher has failed before."""
    try:
        yield
    except BaseException as error:
        is_exit = isinstance(error, SystemExit)
        file = os.environ.get(_FIRST_ERROR)
        if file is not None and not (is_exit and error.code in (None, 0)):
            text = f"exit status {error.code}" if is_exit else traceback.format_exception_only(error)[-1].strip()
            with contextlib.suppress(OSError), open(file, "x") as first:
                first.write(f"rank {os.environ.get('RANK', '?')} failed first: {text}")
        raise


def name_ranks():
    """Gives a launched process PyTorch's variables RANK, WORLD_SIZE and LOCAL_RANK, where they are not set."""
    for name, names in (("RANK", _RANK), ("WORLD_SIZE", _SIZE), ("LOCAL_RANK", _LOCAL_RANK)):
        value = next((os.environ[known] for known in names if known in os.environ), None)
        if value is not None:
            os.environ.setdefault(name, value)
