"""Programs of several processes, connected by sockets or MPI: PyTorch's process groups and collective calls, on tensors of the CPU.

`opforge run -n 4 train.py` starts the processes, or the program itself does (`multiprocessing.spawn`), PyTorch's launcher (`python -m opforge.distributed.run`), or
MPI's (`mpiexec -n 4 python train.py`; `pip install mpich`); a program that is started alone is a world of one. Ranks agree on each call before they make it: ranks that differ, stop or do not come are a DistError on each, within `timeout` of
`init_process_group`, never a wrong result or a hang.
"""

from __future__ import annotations

import os

from .._absent import absent_names
from ._backend import Backend
from ._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from ._errors import DistBackendError, DistError, DistNetworkError, DistStoreError
from ._grad_bucket import GradBucket
from ._messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from ._objects import all_gather_object, broadcast_object_list, gather_object, recv_object_list, scatter_object_list, send_object_list
from ._plan import Machine, Plan, Spent, plan
from ._reduce_op import ReduceOp, reduce_op
from ._rendezvous import rendezvous
from ._state import (
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
)
from ._store import FileStore, HashStore, PrefixStore, Store, TCPStore
from ._work import Work

__all__ = """
Backend DistBackendError DistError DistNetworkError DistStoreError FileStore GradBucket GroupMember HashStore Machine P2POp Plan PrefixStore ProcessGroup
ReduceOp Spent Store TCPStore Work all_gather
all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single barrier batch_isend_irecv broadcast broadcast_object_list destroy_process_group gather
gather_object get_backend get_default_backend_for_device get_global_rank get_group_rank get_node_local_rank get_process_group_ranks get_rank get_world_size group
init_process_group irecv is_available is_backend_available is_gloo_available is_initialized is_mpi_available is_nccl_available
is_torchelastic_launched is_ucc_available is_xccl_available isend monitored_barrier new_group plan recv recv_object_list reduce reduce_op reduce_scatter
reduce_scatter_tensor rendezvous scatter scatter_object_list send send_object_list
""".split()

_REASON = "opforge's process groups have nothing of the kind"


def is_available() -> bool:
    """Whether there are process groups: True."""
    return True


def is_mpi_available() -> bool:
    """Whether an MPI library with the standard ABI is found, as `pip install mpich` brings it. It is looked for, but not started."""
    from .. import _core

    return _core._ProcessGroup.is_mpi_found()


def is_nccl_available() -> bool:
    """False: ranks hold tensors in main memory."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_gloo_available() -> bool:
    """Whether `"gloo"` names a transport: True, sockets."""
    return True


def is_torchelastic_launched() -> bool:
    """Whether PyTorch's launcher started this process, or `opforge.distributed.run`."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend) -> bool:
    """Whether `init_process_group` takes a transport of that name."""
    return str(backend).lower() in ("mpi", "gloo")


_SUBMODULES = """
algorithms checkpoint device_mesh distributed_c10d elastic fsdp launcher nn optim pipelining rpc run tensor utils
""".split()
_FUNCTIONS = "all_reduce_coalesced new_subgroups"
_CLASSES = "ProcessGroupGloo ProcessGroupNCCL"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(importlib.import_module(".device_mesh", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
