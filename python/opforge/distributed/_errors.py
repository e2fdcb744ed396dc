"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

from .. import OpforgeError


class DistError(OpforgeError):
    """Ranks that called different things, that did not come, or that stopped; what other errors of process groups derive from."""


class DistBackendError(DistError):
    """MPI cannot be found or used, or one of its functions failed."""


class DistNetworkError(DistError):
    """A connection that failed. MPI's failures are DistBackendError."""


class DistStoreError(DistError):
    """A store that failed. There are no stores: processes find each other through MPI's launcher."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError):
    _error.__module__ = "opforge.distributed"
