"""Stores: keys and values that the processes of a program share before they have groups, in PyTorch's forms.

All are one set of operations on a dictionary. Where that is differs: in this process, in a file, or in a process that serves others over TCP.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import struct
import threading
import time

from ._errors import DistNetworkError, DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_TIMEOUT = datetime.timedelta(minutes=5)
_LONGEST = 1 << 28


def _get(data, keys):
    return [data[key] for key in keys if key in data]


def _set(data, keys, *values):
    data.update(zip(keys, values))


def _add(data, keys, amount):
    data[keys[0]] = b"%d" % (int(data.get(keys[0], b"0")) + int(amount))
    return [data[keys[0]]]


def _append(data, keys, value):
    data[keys[0]] = data.get(keys[0], b"") + value


def _compare_set(data, keys, expected, desired):
    found = data.get(keys[0])
    if found is None and expected:
        return [expected]
    if found is None or found == expected:
        data[keys[0]] = desired
    return [data[keys[0]]]


def _delete(data, keys):
    return [data.pop(key) for key in keys if key in data]


def _count(data, keys):
    return [b"%d" % len(data)]


# What is done to the dictionary of keys and values, with some keys and other values; the values that come of it.
_OPERATIONS = [_get, _set, _add, _append, _compare_set, _delete, _count]


def _bytes(value):
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Keys and values (texts or bytes, which are read as bytes) that processes share: `TCPStore`, `FileStore`, `HashStore`, `PrefixStore`."""

    def __init__(self, timeout=_TIMEOUT):
        self._timeout = timeout

    def _do(self, operation, keys, *values):
        """Does one of `_OPERATIONS`, while nobody else does any."""
        raise NotImplementedError(f"{type(self).__name__}: a store of PyTorch's: TCPStore, FileStore, HashStore, PrefixStore")

    @property
    def timeout(self) -> datetime.timedelta:
        """How long is waited for keys."""
        return self._timeout

    def set_timeout(self, timeout):
        """Sets how long is waited for keys, a datetime.timedelta."""
        self._timeout = timeout

    def set(self, key, value):
        """Sets a key's value."""
        self._do(_set, [key], _bytes(value))

    def get(self, key) -> bytes:
        """A key's value, once it is there. Raises DistStoreError if it is not within the timeout."""
        return self.multi_get([key])[0]

    def add(self, key, amount) -> int:
        """Adds to a number, which begins at 0; the sum."""
        return int(self._do(_add, [key], b"%d" % amount)[0])

    def append(self, key, value):
        """Appends to a key's value, which begins empty."""
        self._do(_append, [key], _bytes(value))

    def compare_set(self, key, expected_value, desired_value) -> bytes:
        """Sets a value if it is the expected one, or expected to be empty and not there; the value afterwards, or the expected one without any."""
        return self._do(_compare_set, [key], _bytes(expected_value), _bytes(desired_value))[0]

    def check(self, keys) -> bool:
        """Whether all keys are there."""
        return len(self._do(_get, list(keys))) == len(keys)

    def wait(self, keys, timeout=None):
        """Waits until all keys are there. Raises DistStoreError if they are not within the timeout."""
        timeout = self._timeout if timeout is None else timeout
        until, pause = time.monotonic() + timeout.total_seconds(), 0.001
        while not self.check(keys):
            if time.monotonic() >= until:
                raise DistStoreError(f"wait timeout after {timeout.total_seconds() * 1e3:.0f}ms, keys: {', '.join(keys)}")
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def multi_get(self, keys) -> list[bytes]:
        """The values of keys, once all are there. Raises DistStoreError if they are not within the timeout."""
        self.wait(keys)
        return self._do(_get, list(keys))

    def multi_set(self, keys, values):
        """Sets the values of keys."""
        self._do(_set, list(keys), *map(_bytes, values))

    def delete_key(self, key) -> bool:
        """Removes a key; whether it was there."""
        return bool(self._do(_delete, [key]))

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._do(_count, [])[0])

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`: True."""
        return True


class HashStore(Store):
    """A store within one process, for its threads.

    >>> from opforge.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("first", "value")
    >>> store.get("first"), store.add("count", 2), store.check(["other"])
    (b'value', 2, False)
    """

    def __init__(self):
        super().__init__()
        self._data, self._lock = {}, threading.Lock()

    def _do(self, operation, keys, *values):
        with self._lock:
            return operation(self._data, keys, *values) or []


class PrefixStore(Store):
    """Keys of another store that begin with a prefix.

    >>> from opforge.distributed import HashStore, PrefixStore
    >>> store = HashStore()
    >>> PrefixStore("a", store).set("key", "value")
    >>> store.get("a/key")
    b'value'
    """

    def __init__(self, prefix, store):
        super().__init__(store.timeout)
        self.prefix, self.underlying_store = prefix, store

    def _do(self, operation, keys, *values):
        return self.underlying_store._do(operation, [f"{self.prefix}/{key}" for key in keys], *values)


class FileStore(Store):
    """A store in a file, which processes of one machine or of a shared file system have together. The process whose store goes last of `world_size` removes it."""

    _USERS = "opforge/users"

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        self._path, self._size = os.fspath(file_name), world_size
        self._users, self._process = self.add(self._USERS, 1), os.getpid()

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def _do(self, operation, keys, *values):
        import fcntl

        with open(self._path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            parts = list(_unpacked(before))
            data = dict(zip((part.decode() for part in parts[::2]), parts[1::2]))
            result = operation(data, keys, *values) or []
            after = _packed(part for key, value in data.items() for part in (key.encode(), value))
            if after != before:
                file.truncate(0)
                file.write(after)
            return result

    def __del__(self):
        if getattr(self, "_process", None) == os.getpid() and self._size > 0:
            with contextlib.suppress(OSError, ImportError, TypeError):
                if self.add(f"{self._USERS} gone", 1) == self._size:
                    os.remove(self._path)


def _packed(parts):
    """Texts of bytes, one after the other, with their lengths."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def _unpacked(text):
    place = 0
    while place < len(text):
        (length,) = struct.unpack_from("<I", text, place)
        yield text[place + 4 : place + 4 + length]
        place += 4 + length


class TCPStore(Store):
    """A store in one process, the one with `is_master=True`, that others reach over TCP: `TCPStore("127.0.0.1", 29501, 2, rank == 0)`.

    The master waits until `world_size` processes have a store, itself among them. Port 0 is any that is free: `port` tells it. Whoever can reach the port can read
    and write. Raises DistNetworkError if the port is taken, or the master not reached within the timeout; DistStoreError if others do not come within it.
    """

    _INIT = "init/"

    def __init__(
        self, host_name, port=0, world_size=None, is_master=False, timeout=_TIMEOUT, wait_for_workers=True, multi_tenant=False, master_listen_fd=None, use_libuv=True
    ):
        super().__init__(timeout)
        self.host, self.is_master = host_name, is_master
        self._server = _Server(host_name, port) if is_master else None
        self.port = self._server.port if is_master else port
        self._lock, self._connection = threading.Lock(), self._connect()
        self.add(self._INIT, 1)
        if is_master and wait_for_workers and world_size:
            self._wait_for(world_size)

    def _connect(self):
        until = time.monotonic() + self._timeout.total_seconds()
        host = "127.0.0.1" if self.is_master and not _is_loopback(self.host) else self.host
        while True:
            try:
                connection = socket.create_connection((host, self.port), max(0.1, until - time.monotonic()))
            except OSError as error:
                if time.monotonic() >= until:
                    raise DistNetworkError(f"no TCPStore at {host}:{self.port} within {self._timeout}: {error}") from None
                time.sleep(0.02)
                continue
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

    def _wait_for(self, world_size):
        until = time.monotonic() + self._timeout.total_seconds()
        while (joined := self.add(self._INIT, 0)) < world_size:
            if time.monotonic() >= until:
                raise DistStoreError(f"Timed out after {self._timeout} waiting for clients. {joined}/{world_size} clients joined.")
            time.sleep(0.005)

    def _do(self, operation, keys, *values):
        request = [bytes([_OPERATIONS.index(operation)]), b"%d" % len(keys), *(key.encode() for key in keys), *values]
        try:
            with self._lock:
                _send(self._connection, request)
                return _receive(self._connection)
        except OSError as error:
            raise DistNetworkError(f"the TCPStore at {self.host}:{self.port} is gone: {error}") from None


def _is_loopback(host):
    return host in ("localhost", "::1") or host.startswith("127.")


def _send(connection, parts):
    content = _packed(parts)
    connection.sendall(struct.pack("<I", len(content)) + content)


def _receive(connection):
    """What was sent. Raises ConnectionError at the end, or for what is longer than anything that is sent."""
    (length,) = struct.unpack("<I", _exactly(connection, 4))
    if length > _LONGEST:
        raise ConnectionError(f"a message of {length} bytes")
    return list(_unpacked(_exactly(connection, length)))


def _exactly(connection, length):
    content = bytearray()
    while len(content) < length:
        part = connection.recv(min(length - len(content), 1 << 16))
        if not part:
            raise ConnectionError("the connection has ended")
        content += part
    return bytes(content)


class _Server:
    """Serves a dictionary, with a thread for each connection, until it is dropped or the process ends."""

    def __init__(self, host, port):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host if _is_loopback(host) else "", port), family=family)
        except OSError as error:
            raise DistNetworkError(f"TCPStore: cannot listen at {host}:{port}: {error}") from None
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=_accept, args=(self._socket, HashStore()), daemon=True).start()

    def __del__(self):
        with contextlib.suppress(AttributeError, OSError):
            # Wakes the thread that waits for connections.
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


def _accept(listener, data):
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(connection, data), daemon=True).start()


def _serve(connection, data):
    # A stranger's bytes are no request, and end its connection.
    with connection, contextlib.suppress(OSError, ValueError, LookupError, TypeError, struct.error):
        while True:
            (operation,), count, *parts = _receive(connection)
            keys, values = parts[: int(count)], parts[int(count) :]
            _send(connection, data._do(_OPERATIONS[operation], [key.decode() for key in keys], *values))
