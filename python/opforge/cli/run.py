"""`opforge run`: a PyTorch program as it is, on opforge."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

_DESCRIPTION = """Runs a Python program in which `import torch` means opforge, in the packages that it imports too: what `import opforge.as_torch` at its
top would do. So do processes that it starts by multiprocessing. With -n the program runs in several processes, which opforge.distributed connects; RANK,
WORLD_SIZE and LOCAL_RANK are set. The exit status is that of the first that fails."""


def add_to(commands) -> None:
    """The command's arguments."""
    parser = commands.add_parser("run", help="run a PyTorch program on opforge", description=_DESCRIPTION)
    parser.add_argument("-n", dest="processes", type=int, metavar="PROCESSES", help="run PROCESSES processes")
    parser.add_argument(
        "--backend", choices=["gloo", "mpi"], help="with -n, what connects the processes: sockets (gloo) or MPI (pip install mpich); by default MPI where it is found"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in python -m")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, a folder with a __main__.py, or a module")
    parser.add_argument("arguments", metavar="..", nargs=argparse.REMAINDER, help="the program's own arguments")
    parser.set_defaults(run=run)


def run(args):
    """The program as Python would run it, to be called; or, where processes are asked for, their exit status."""
    from .launch import launch, name_ranks

    if not args.module and not os.path.exists(args.program):
        raise FileNotFoundError(f"run: there is no file {args.program}")
    if args.processes is not None:
        return _run_several(args, launch)
    name_ranks()
    from .. import as_torch  # noqa: F401  its import is what it does

    sys.argv = [args.program, *args.arguments]
    sys.path.insert(0, os.getcwd() if args.module else os.path.dirname(os.path.abspath(args.program)))
    return lambda: _run_here(args)


def _run_here(args) -> int:
    from .launch import noted

    with noted():
        if args.module:
            runpy.run_module(args.program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(args.program, run_name="__main__")
    return 0


def _run_several(args, launch) -> int:
    from . import UsageError

    if args.processes < 1:
        raise UsageError(f"run: -n {args.processes}, expected at least 1")
    return launch(args.processes, [*(["-m"] if args.module else []), args.program, *args.arguments], args.backend)
