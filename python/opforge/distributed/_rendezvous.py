"""How processes find each other that MPI's launcher did not start: by the environment, an address, a file, or a store."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import socket
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

_KEY = "opforge/rank 0"
# What rank 0 writes before its address: other content is somebody else's, or not complete.
_MARK = "opforge rank 0 at "
_ANYWHERE = "0.0.0.0:0"


@dataclasses.dataclass
class Meeting:
    """A process on its way to others. `find` tells rank 0 where to listen and others where rank 0 is, or None as long as that is not known; `tell` makes
    rank 0's port known; `end` is called when all are connected."""

    rank: int
    size: int
    find: Callable[[], str | None] = lambda: None
    tell: Callable[[int], None] = lambda port: None
    end: Callable[[], None] = lambda: None


def meeting(init_method, rank, size, store) -> Meeting | None:
    """How this process meets the others; None if it says nothing about others. Raises ValueError for what is missing or contradicts itself."""
    if store is not None:
        if init_method is not None:
            raise ValueError("Cannot specify both init_method and store.")
        return _by_store(store, *_numbers(rank, size, "store"))
    method = urlsplit(init_method or "env://")
    given = parse_qs(method.query)
    rank, size = int(given.get("rank", [rank])[0]), int(given.get("world_size", [size])[0])
    if method.scheme == "env":
        return _by_environment(rank, size)
    if method.scheme == "tcp":
        if method.port is None:
            raise ValueError(f"Error initializing torch.distributed using tcp:// rendezvous: port number missing in {init_method}")
        return _at(method.hostname or "", method.port, *_numbers(rank, size, "tcp://"))
    if method.scheme == "file":
        if not method.path:
            raise ValueError(f"Error initializing torch.distributed using file:// rendezvous: path missing in {init_method}")
        return _by_file(pathlib.Path(method.path), *_numbers(rank, size, "file://"))
    raise ValueError(f"init_process_group: init_method='{init_method}', expected env://, tcp:// or file://")


def _numbers(rank, size, kind):
    """The numbers, if they are given and go together."""
    for name, value in (("rank", rank), ("world size", size)):
        if value < 0:
            raise ValueError(f"Error initializing torch.distributed using {kind} rendezvous: {name} parameter missing")
    if not rank < size:
        raise ValueError(f"init_process_group: rank={rank}, expected 0 to {size - 1}, below world_size={size}")
    return rank, size


def _by_environment(rank, size):
    if size < 0 and "WORLD_SIZE" not in os.environ and rank <= 0:
        return None
    size = size if size >= 0 else _number("WORLD_SIZE")
    if size == 1:
        return Meeting(*_numbers(max(rank, 0), 1, "env://"))
    rank, size = _numbers(rank if rank >= 0 else _number("RANK"), size, "env://")
    return _at(_variable("MASTER_ADDR"), _number("MASTER_PORT"), rank, size)


def _variable(name):
    value = os.environ.get(name)
    if not value:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set "
            "(`opforge run -n PROCESSES` sets it)"
        )
    return value


def _number(name):
    value = _variable(name)
    if not value.isdigit():
        raise ValueError(f"init_process_group: {name}={value}, expected a number")
    return int(value)


def _at(host, port, rank, size):
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Meeting(rank, size, lambda: address)


def _here(port):
    """Where rank 0 is, for processes of any machine."""
    return f"{socket.gethostname()}:{port}"


def _from_here(address):
    """The same for this process."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host == socket.gethostname() else address


def _by_file(path, rank, size):
    def find():
        if rank == 0:
            return _ANYWHERE
        with contextlib.suppress(OSError):
            _, mark, address = path.read_text().partition(_MARK)
            return _from_here(address.strip()) if mark else None

    def tell(port):
        # Others see all of it or nothing.
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(f"{_MARK}{_here(port)}\n")
        os.replace(beside, path)

    def end():
        if rank == 0:
            path.unlink(missing_ok=True)

    return Meeting(rank, size, find, tell, end)


def _by_store(store, rank, size):
    def find():
        if rank == 0:
            return _ANYWHERE
        return _from_here(store.get(_KEY).decode()) if store.check([_KEY]) else None

    def end():
        # Another meeting by this store is to find its own rank 0.
        if rank == 0:
            store.delete_key(_KEY)

    return Meeting(rank, size, find, lambda port: store.set(_KEY, _here(port)), end)


def rendezvous(url, rank=-1, world_size=-1, **options):
    """What `init_process_group(init_method=url)` would meet by, as PyTorch gives it: an iterator of `(store, rank, world_size)`, once. Raises ValueError as it does."""
    from ._store import FileStore, TCPStore

    found = meeting(url, rank, world_size, None)
    if found is None:
        raise ValueError("Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set")
    method = urlsplit(url)
    if method.scheme == "file":
        yield FileStore(method.path, found.size), found.rank, found.size
    else:
        host, _, port = (found.find() or "127.0.0.1:0").rpartition(":")
        yield TCPStore(host.strip("[]"), int(port), found.size, found.rank == 0, **options), found.rank, found.size
