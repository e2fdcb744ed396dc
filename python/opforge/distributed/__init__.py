"""Programs of several processes, which opforge cannot run yet: a program is told that it is alone, as PyTorch tells one without a process group."""

from __future__ import annotations

import enum

from .._absent import absent_names

_REASON = "opforge has no process groups"


class ReduceOp(enum.IntEnum):
    """What a reduction over processes would compute."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


reduce_op = ReduceOp


class group:
    """The group of all processes: None."""

    WORLD = None


class GroupMember:
    """The group of all processes, None, and the mark of who belongs to no group."""

    WORLD = None
    NON_GROUP_MEMBER = -100


class DistBackendError(RuntimeError):
    """What a failed transport would raise."""


class DistNetworkError(RuntimeError):
    """What a failed connection would raise."""


class DistStoreError(RuntimeError):
    """What a failed store would raise."""


def is_available() -> bool:
    """Whether there are process groups."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_available
is_torchelastic_launched = is_initialized = is_available


def is_backend_available(backend) -> bool:
    """Whether there is a transport of that name."""
    return False


def get_rank(group=None) -> int:
    """This process's number. Raises ValueError: without a group there is none."""
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


get_world_size = get_backend = get_rank


_FUNCTIONS = """
all_gather all_gather_into_tensor all_gather_object all_reduce all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv broadcast
broadcast_object_list destroy_process_group gather gather_object get_global_rank get_group_rank get_process_group_ranks init_device_mesh
init_process_group irecv isend monitored_barrier new_group new_subgroups recv reduce reduce_scatter reduce_scatter_tensor rendezvous scatter
scatter_object_list send
"""
_CLASSES = "Backend DeviceMesh FileStore HashStore P2POp PrefixStore ProcessGroup ProcessGroupGloo ProcessGroupNCCL Store TCPStore Work"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    import importlib

    if name in ("algorithms", "device_mesh", "distributed_c10d", "fsdp", "nn", "optim", "rpc", "tensor", "utils"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
