"""All-reduces of 64 MiB beside mpi4py's, over the same MPI and in turns: `python bench/python/all_reduce.py` (`pip install mpich mpi4py`).

Each turn starts two processes of each. `PYTHON_OF_MPI4PY` may name an interpreter that has mpi4py.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

TURNS, CALLS, COUNT = 5, 12, 1 << 24


def with_opforge():
    import opforge as torch
    import opforge.distributed as dist

    dist.init_process_group()
    x = torch.ones(COUNT)
    return measured(dist.barrier, lambda: dist.all_reduce(x)), dist.get_rank()


def with_mpi4py():
    import numpy
    from mpi4py import MPI

    x = numpy.ones(COUNT, numpy.float32)
    return measured(MPI.COMM_WORLD.Barrier, lambda: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)), MPI.COMM_WORLD.rank


def measured(together, call):
    """The median of several calls that all processes begin together, in milliseconds."""
    times = []
    for _ in range(CALLS):
        together()
        begun = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times[2:])


def run(python, kind):
    """What the first of two processes has measured."""
    folder = pathlib.Path(sys.executable).parent
    library = folder.parent / "lib"
    environment = os.environ | {"MPI4PY_LIBMPI": str(library / "libmpi.so.12"), "MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(library)}
    command = [folder / "mpiexec", "-n", "2", python, __file__, kind]
    return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    pythons = {"opforge": sys.executable, "mpi4py": os.environ.get("PYTHON_OF_MPI4PY", sys.executable)}
    times = {kind: [] for kind in pythons}
    for _ in range(TURNS):
        for kind, python in pythons.items():
            times[kind].append(run(python, kind))
    for kind, found in times.items():
        print(f"{kind:8} {statistics.median(found):6.1f} ms  ({', '.join(f'{one:.1f}' for one in found)})")


if len(sys.argv) > 1:
    took, rank = {"opforge": with_opforge, "mpi4py": with_mpi4py}[sys.argv[1]]()
    if rank == 0:
        print(took)
else:
    main()
