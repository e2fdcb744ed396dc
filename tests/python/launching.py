"""Programs of several processes, started by MPI's launcher."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import opforge

PROGRAMS = pathlib.Path(__file__).parent / "distributed"
ROOT = pathlib.Path(__file__).parents[2]


def launcher():
    """The folder of an `mpiexec` with the library beside it."""
    folders = [pathlib.Path(sys.executable).parent, *(ROOT / name / "bin" for name in (".venv", ".venv-mpi"))]
    on_path = shutil.which("mpiexec")
    for folder in folders + ([pathlib.Path(on_path).resolve().parent] if on_path else []):
        if (folder / "mpiexec").exists() and (folder.parent / "lib/libmpi_abi.so.1").exists():
            return folder
    return None


FOLDER = launcher()
needs_mpi = pytest.mark.skipif(FOLDER is None, reason="no mpiexec with libmpi_abi beside it: pip install mpich")
# Has the launcher leave other ranks alone when one is killed: it does not see that behind a shell, and sends them SIGUSR1.
APART = ["sh", "-c", "trap '' USR1; \"$0\" \"$@\"; exit $?"]


def run(*command, folder=None):
    """Runs a command that finds this package and MPI's launcher, in a folder."""
    paths = [str(pathlib.Path(opforge.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join([str(FOLDER), os.environ["PATH"]])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PATH": path}
    return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=120, cwd=folder)


def started(ranks, program, *arguments):
    """Runs a program of the tests as so many processes."""
    return run(FOLDER / "mpiexec", "-n", ranks, sys.executable, PROGRAMS / program, *arguments)


def started_apart(ranks, program, *arguments):
    """As `started`; ranks whose neighbours are killed go on."""
    return run(FOLDER / "mpiexec", "-disable-auto-cleanup", "-n", ranks, *APART, sys.executable, PROGRAMS / program, *arguments)


def programs(document, section):
    """The programs in Python of a section of a document."""
    text = (ROOT / document).read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [part.partition("```")[0] for part in text.split("```python\n")[1:]]
