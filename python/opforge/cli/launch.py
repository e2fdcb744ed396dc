"""Starting a program as several processes: by the launcher of an MPI, or without."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

from . import ranks

# Variables by which launchers number their processes, and PyTorch's names for them.
_RANK = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")
# The file in which the first process that fails says why.
_FIRST_ERROR = "OPFORGE_FIRST_ERROR"


def find_launcher():
    """The `mpiexec` beside the interpreter, or the one on PATH; None where there is none."""
    beside = pathlib.Path(sys.executable).parent / "mpiexec"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")


def launch(processes, arguments, backend=None) -> int:
    """Runs `opforge run` with these arguments in so many processes; the exit status of the first that failed. What ended that one is said last, since errors that it
    caused elsewhere may have been shown before its own. `backend` is `"mpi"` or `"gloo"`; by default MPI where there are its launcher and a library. Raises
    FileNotFoundError for MPI without a launcher."""
    command = [sys.executable, "-m", "opforge", "run", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder) / "first"
        note = {_FIRST_ERROR: str(first)}
        if _is_by_mpi(backend):
            status, how = _wait(subprocess.Popen([find_launcher(), "-n", str(processes), *command], env=os.environ | note)), None
        else:
            port = ranks.free_port()
            of_ranks = [note | ranks.variables(rank, processes, "127.0.0.1", port) for rank in range(processes)]
            status, how = ranks.run(command, of_ranks)
        if status and (how or first.exists()):
            print(f"opforge run: {how or first.read_text()}", file=sys.stderr)
    return status


def _is_by_mpi(backend):
    from .. import _core

    if backend == "mpi" and find_launcher() is None:
        raise FileNotFoundError(f"run: there is no mpiexec beside {sys.executable} or on PATH: pip install mpich, or --backend gloo, which needs none")
    return backend == "mpi" or (backend is None and find_launcher() is not None and _core._ProcessGroup.is_mpi_found())


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
