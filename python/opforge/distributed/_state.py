"""Process groups: the world of a program's processes, and parts of it."""

from __future__ import annotations

import datetime
import os
import sys

from .. import _core
from . import _rendezvous
from ._backend import Backend
from ._errors import DistBackendError

# How long ranks wait for each other. Connections tell when a process has ended, so that only one that is stuck is waited for as long as PyTorch does.
DEFAULT_TIMEOUT, TIMEOUT_OF_SOCKETS = datetime.timedelta(seconds=10), datetime.timedelta(minutes=30)
# How long processes are waited for at the beginning, where no timeout is given.
_MEETING = datetime.timedelta(minutes=5)
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
# Variables by which launchers of MPI programs number their processes.
_LAUNCHED = "PMI_RANK PMI_SIZE PMIX_RANK OMPI_COMM_WORLD_RANK MPI_LOCALRANKID"
_BACKENDS = {None, "mpi", "gloo", "undefined", "cpu:mpi", "cpu:gloo"}


class ProcessGroup:
    """Some of the program's processes, which make collective calls together. `new_group` makes them, and `init_process_group` the one of all."""

    def __init__(self, core, ranks, name, backend):
        self._core, self._ranks, self._name, self._backend = core, list(ranks), name, backend

    def rank(self):
        """This process's number within the group."""
        return self._core.rank()

    def size(self):
        """How many processes the group has."""
        return self._core.size()

    def name(self):
        """The transport's name: `"gloo"` or `"mpi"`."""
        return self._backend

    @property
    def group_name(self):
        return self._name

    def __repr__(self):
        return f"<ProcessGroup {self._name}: rank {self.rank()} of {self.size()}, ranks {self._ranks}>"


class _Meta(type):
    """Classes whose attribute WORLD is the group of all processes, or None."""

    @property
    def WORLD(cls):
        return _world.group


class GroupMember(metaclass=_Meta):
    """`WORLD`, the group of all processes (None before `init_process_group`), and the mark of who belongs to no group."""

    NON_GROUP_MEMBER = -100


class group(metaclass=_Meta):
    """`WORLD`, the group of all processes; None before `init_process_group`."""


class _World:
    """The group of all processes and those made of it."""

    group: ProcessGroup | None = None
    is_failing = False
    # How many groups were made, which all processes count alike.
    count = 0
    # The first world of MPI, which ends MPI, and the process that began it.
    first = None
    process = 0
    groups: dict[str, ProcessGroup] = {}


_world = _World()


def is_initialized() -> bool:
    """Whether `init_process_group` was called, and `destroy_process_group` not since."""
    return _world.group is not None


def is_launched() -> bool:
    """Whether a launcher of MPI programs started this process."""
    return any(name in os.environ for name in _LAUNCHED.split())


def check_backend(name, backend):
    """Refuses transports that are not there."""
    given = str(backend).lower() if backend is not None else None
    if given in _BACKENDS:
        return
    if "nccl" in given:
        raise ValueError(f"{name}: backend='{backend}' moves tensors between CUDA devices, and ranks hold them in main memory (accepted: gloo, mpi)")
    raise ValueError(f"{name}: backend='{backend}', expected gloo or mpi")


def seconds(name, timeout, default=DEFAULT_TIMEOUT) -> float:
    """A limit in seconds."""
    timeout = default if timeout is None else timeout
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"{name}: timeout must be a datetime.timedelta, not {type(timeout).__name__}")
    if timeout <= datetime.timedelta(0):
        raise ValueError(f"{name}: timeout={timeout}, expected more than 0")
    return timeout.total_seconds()


def _of_mpi(limit):
    made = _core._ProcessGroup("mpi", limit)
    _world.first = _world.first or made
    return made


def _connected(meeting, timeout):
    """The world of processes that meet by themselves."""
    limit, patience = (seconds("init_process_group", timeout, default) for default in (TIMEOUT_OF_SOCKETS, _MEETING))
    made = _core._ProcessGroup.connected(meeting.rank, meeting.size, limit, patience, meeting.find, meeting.tell)
    meeting.end()
    return made


def _make(backend, timeout, meeting):
    """The world: of MPI where its launcher started this process, of those that meet, or of this process alone."""
    limit = seconds("init_process_group", timeout)
    if is_launched():
        return _of_mpi(limit)
    if meeting is None:
        is_asked_for = "gloo" not in (backend or "") and _core._ProcessGroup.is_mpi_found()
        return _of_mpi(limit) if is_asked_for else _core._ProcessGroup("threads", limit)
    if meeting.size == 1:
        return _core._ProcessGroup("threads", limit)
    if "mpi" in (backend or ""):
        program = f"-n {meeting.size}", sys.argv[0]
        raise DistBackendError(
            f"init_process_group: a world of {meeting.size} processes by MPI, but no MPI launcher started this one: "
            f"opforge run {' '.join(program)}, or mpiexec {program[0]} python {program[1]} (pip install mpich); backend='gloo' needs none"
        )
    return _connected(meeting, timeout)


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None, _ranks=None
):
    """Begins the group of all processes of a program. All call it.

    Where MPI's launcher started the process (`mpiexec`, `opforge run -n 4`), it is MPI's world, and `world_size` and `rank` must agree with it where they are
    given. Else processes are connected by TCP. Each says its `rank` and the `world_size`, or the environment does (RANK, WORLD_SIZE), and they find each other by

    - `init_method="env://"`, the default: MASTER_ADDR and MASTER_PORT say where rank 0 listens;
    - `"tcp://127.0.0.1:29500"`: rank 0 listens there;
    - `"file:///shared/name"`: in a file that all can reach, which is removed once they are connected;
    - `store`: a `TCPStore`, `FileStore` or another.

    A process that says nothing is a world of one. `backend` is `"gloo"` (sockets) or `"mpi"`; under MPI's launcher both are MPI. `timeout` is how long a rank
    waits for others before it is an error: by default 10 s with MPI, else 30 minutes, and 5 for the first meeting; a process that ends is an error of the others
    at once.

    Raises ValueError for other backends, what is missing in the environment, numbers that contradict each other or the launcher's, or a second call;
    DistNetworkError if rank 0 cannot listen or be reached; DistBackendError if MPI cannot be used; DistError if ranks do not come.

    >>> import opforge.distributed as dist
    >>> dist.init_process_group("gloo", world_size=1, rank=0)
    >>> dist.get_backend(), dist.get_world_size()
    ('gloo', 1)
    >>> dist.destroy_process_group()
    """
    from ._exit import watch

    if _world.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    check_backend("init_process_group", backend)
    backend = None if backend is None else str(backend).lower()
    world_size, rank = -1 if world_size is None else world_size, -1 if rank is None else rank
    meeting = None if is_launched() else _rendezvous.meeting(init_method, rank, world_size, store)
    core = _make(backend, timeout, meeting)
    if world_size not in (-1, core.size()) or rank not in (-1, core.rank()):
        given = f"rank={rank}, world_size={world_size}"
        raise ValueError(f"init_process_group: {given}, but the launcher made this process rank {core.rank()} of {core.size()}")
    name = "mpi" if "mpi" in (backend or core.name()) else "gloo"
    _world.group = ProcessGroup(core, range(core.size()), group_name or "default_pg", name)
    _world.groups = {_world.group._name: _world.group}
    watch(os.getpid())


def destroy_process_group(group=None):
    """Ends a group, or all: then every rank calls it, and calls under way are waited for. Ranks that do not come are an error with MPI; else the process
    leaves without them after the timeout. Raises ValueError without `init_process_group`; DistError if ranks call something else."""
    found = resolve(group)
    if found is None:
        return
    if found is not _world.group:
        _world.groups.pop(found._name, None)
        return
    _world.group, _world.groups = None, {}
    found._core.close()


def resolve(group) -> ProcessGroup | None:
    """The group that an argument `group` stands for: that of all for None; None for a group that this process is not in."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    if _world.group is None:
        raise ValueError(_NOT_INITIALIZED)
    if group is None:
        return _world.group
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup, not {type(group).__name__}")
    if group is not _world.group and _world.groups.get(group._name) is not group:
        raise ValueError(f"The group {group._name} was destroyed.")
    return group


def known_groups() -> list[ProcessGroup]:
    """The groups that this process is in, that of all first. Raises ValueError before `init_process_group`."""
    resolve(None)
    return list(_world.groups.values())


def get_rank(group=None) -> int:
    """This process's number within the group; -1 if it is not in it. Raises ValueError before `init_process_group`."""
    found = resolve(group)
    return -1 if found is None else found.rank()


def get_world_size(group=None) -> int:
    """How many processes the group has; -1 if this one is not in it. Raises ValueError before `init_process_group`."""
    found = resolve(group)
    return -1 if found is None else found.size()


def get_backend(group=None) -> str:
    """The transport's name, `"gloo"` or `"mpi"`. Raises ValueError before `init_process_group`, or for a group that this process is not in."""
    found = resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.name()


def get_default_backend_for_device(device) -> str:
    """The name of the transport that PyTorch would take for tensors of a device: `"gloo"` for the CPU. Raises ValueError for devices without one."""
    kind = _core.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_process_group_ranks(group=None) -> list[int]:
    """The group's processes by their numbers in the world."""
    found = resolve(group)
    if found is None:
        raise ValueError("get_process_group_ranks: this process is not in the group")
    return list(found._ranks)


def get_group_rank(group, global_rank) -> int:
    """The number within the group of a process of the world. Raises ValueError if it is not in the group."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group, group_rank) -> int:
    """The number in the world of a process of the group. Raises ValueError if the group has no such process."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank=None) -> int:
    """This process's number on its machine, as the launcher says it. Raises RuntimeError where it does not, unless there is a fallback."""
    for name in ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"):
        if name in os.environ:
            return int(os.environ[name])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")
    return int(fallback_rank)


def new_group(
    ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None
):
    """A group of some ranks of the world, ascending; all for None. All processes call it, in the same order, those outside of it too, which get
    `GroupMember.NON_GROUP_MEMBER`. Its calls wait as long as those of the world: `timeout` is only checked.

    Raises ValueError for ranks that are not distinct ranks of the world, or other backends; DistError if members do not come.
    """
    world = resolve(None)
    check_backend("new_group", backend)
    if timeout is not None:
        seconds("new_group", timeout)
    members = list(range(world.size())) if ranks is None else sorted(ranks)
    if not members or len(set(members)) != len(members) or members[0] < 0 or members[-1] >= world.size():
        raise ValueError(f"new_group: ranks={ranks}, expected distinct ranks from 0 to {world.size() - 1}")
    _world.count += 1
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(world._core.subgroup(members), members, str(_world.count), world.name())
    _world.groups[made._name] = made
    return made
