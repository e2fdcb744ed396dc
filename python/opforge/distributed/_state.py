"""Process groups: the world of processes that MPI's launcher started, and parts of it."""

from __future__ import annotations

import datetime
import os
import sys

from .. import _core
from ._errors import DistBackendError

DEFAULT_TIMEOUT = datetime.timedelta(seconds=10)
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
# Variables by which launchers of MPI programs number their processes.
_LAUNCHED = "PMI_RANK PMI_SIZE PMIX_RANK OMPI_COMM_WORLD_RANK MPI_LOCALRANKID"
_BACKENDS = {None, "mpi", "gloo", "undefined", "cpu:mpi", "cpu:gloo"}


class ProcessGroup:
    """Some of the program's processes, which make collective calls together. `new_group` makes them, and `init_process_group` the one of all."""

    def __init__(self, core, ranks, name):
        self._core, self._ranks, self._name = core, list(ranks), name

    def rank(self):
        """This process's number within the group."""
        return self._core.rank()

    def size(self):
        """How many processes the group has."""
        return self._core.size()

    def name(self):
        """The engine's name: `"mpi"`."""
        return "mpi"

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
        raise ValueError(f"{name}: backend='{backend}' moves tensors between CUDA devices, and this build has none (accepted: mpi, gloo)")
    raise ValueError(f"{name}: backend='{backend}', expected mpi (or gloo, a name for the same)")


def seconds(name, timeout) -> float:
    """A limit in seconds."""
    timeout = DEFAULT_TIMEOUT if timeout is None else timeout
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"{name}: timeout must be a datetime.timedelta, not {type(timeout).__name__}")
    if timeout <= datetime.timedelta(0):
        raise ValueError(f"{name}: timeout={timeout}, expected more than 0")
    return timeout.total_seconds()


def _check_started(world_size):
    """Refuses programs that were started as several processes by other means, each of which would be alone."""
    if is_launched():
        return
    intended = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE") or 1)
    if intended > 1:
        raise DistBackendError(
            f"init_process_group: a world of {intended} processes, but no MPI launcher started this one: "
            f"opforge run -n {intended} {sys.argv[0]}, or mpiexec -n {intended} python {sys.argv[0]} (pip install mpich)"
        )


def _make(world_size, limit):
    """The world: of MPI, or of this process alone where no launcher started it and it asks for no more or there is no MPI."""
    if not is_launched() and (world_size == 1 or not _core._ProcessGroup.is_mpi_found()):
        return _core._ProcessGroup("threads", limit)
    made = _core._ProcessGroup("mpi", limit)
    _world.first = _world.first or made
    return made


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None, device_id=None, _ranks=None
):
    """Begins the group of all processes that `mpiexec` or `opforge run -n` started; without a launcher, that of this process alone.

    `backend` is `"mpi"`; `"gloo"` is a name for the same. `timeout` is how long a rank waits for others before it is an error, 10 s by default.
    Ranks are the launcher's: `world_size` and `rank` must agree with it where they are given, and `init_method` is not needed.

    Raises ValueError for other backends, or numbers that contradict the launcher's, or a second call; DistBackendError if MPI cannot be used;
    DistError if ranks do not come.

    >>> import opforge.distributed as dist
    >>> dist.init_process_group("gloo", world_size=1, rank=0)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    from ._exit import watch

    if _world.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    check_backend("init_process_group", backend)
    if store is not None:
        raise NotImplementedError("init_process_group: store: processes find each other through MPI's launcher, without a store")
    world_size, rank = -1 if world_size is None else world_size, -1 if rank is None else rank
    limit = seconds("init_process_group", timeout)
    _check_started(world_size)
    core = _make(world_size, limit)
    if world_size not in (-1, core.size()) or rank not in (-1, core.rank()):
        given = f"rank={rank}, world_size={world_size}"
        raise ValueError(f"init_process_group: {given}, but the launcher made this process rank {core.rank()} of {core.size()}")
    _world.group = ProcessGroup(core, range(core.size()), group_name or "default_pg")
    _world.groups = {_world.group._name: _world.group}
    watch()


def destroy_process_group(group=None):
    """Ends a group, or all: then every rank calls it, and calls under way are waited for. Raises ValueError without `init_process_group`; DistError
    if ranks call something else or do not come."""
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
    """The engine's name, `"mpi"`. Raises ValueError before `init_process_group`, or for a group that this process is not in."""
    found = resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.name()


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
    made = ProcessGroup(world._core.subgroup(members), members, str(_world.count))
    _world.groups[made._name] = made
    return made
