"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

from .. import OpforgeError


class DistError(OpforgeError):
    """Ranks that called different things, that did not come, or that stopped; what other errors of process groups derive from."""


class DistBackendError(DistError):
    """MPI cannot be found or used, or one of its functions failed."""


class DistNetworkError(DistError):
    """A connection that could not be made: a port that is taken, a rank 0 that is not reached. MPI's failures are DistBackendError."""


class DistStoreError(DistError):
    """A store in which a key did not appear within the timeout, or which others did not join."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError):
    _error.__module__ = "opforge.distributed"
