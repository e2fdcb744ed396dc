"""Tensors as DLPack's capsules, for and from other libraries."""

from __future__ import annotations

import enum

from .._core import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers of devices."""

    kDLCPU, kDLCUDA, kDLCUDAHost, kDLROCM, kDLCUDAManaged, kDLOneAPI = 1, 2, 3, 10, 13, 14


def to_dlpack(tensor):
    """A capsule of the tensor's memory."""
    return tensor.__dlpack__()
