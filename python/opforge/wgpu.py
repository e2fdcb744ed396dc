"""Tensors on GPUs by Vulkan, Metal or DX12, whichever the system has: which there are, and waiting for them.

    x = opforge.ones(3, device="wgpu")          or x.to("wgpu:1"), module.to("wgpu"); "mps" is the same on Apple's machines

The package `opforge-wgpu` has the driver, which is looked for when it is first asked for. Without it, or without a GPU, questions have answers, and what needs
one is a DeviceAbsentError.
"""

from __future__ import annotations

from . import _core
from ._absent.accelerators import DeviceAbsentError

__all__ = ["current_device", "device_count", "get_device_name", "is_available", "is_initialized", "synchronize"]


def device_count() -> int:
    """The number of GPUs; 0 where there is none, no driver, or no package `opforge-wgpu`."""
    return len(_core._wgpu_names())


def is_available() -> bool:
    """Whether there is a GPU, or a driver that does without."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether a GPU has been opened: processes that are forked from now on cannot use it."""
    return _core._wgpu_is_open()


def current_device() -> int:
    """The number of the device for which "wgpu" stands: 0."""
    if not is_available():
        raise DeviceAbsentError("wgpu: there is no device: no GPU, no driver, or no package opforge-wgpu")
    return 0


def _number(device):
    first = current_device()
    if isinstance(device, int):
        return device
    device = _core.device("wgpu" if device is None else device)
    if device.type not in ("wgpu", "mps"):
        raise ValueError(f"Expected a wgpu device, but got: {device}")
    return first if device.index is None else device.index


def get_device_name(device=None) -> str:
    """What a GPU's driver calls it, and the interface by which it is used: `"llvmpipe (LLVM 15.0.6, 256 bits) (vulkan)"`."""
    number, names = _number(device), _core._wgpu_names()
    if not 0 <= number < len(names):
        raise ValueError(f"wgpu: there is no device {number}, but {len(names)} from 0 on")
    return names[number]


def synchronize(device=None) -> None:
    """Waits until everything that was called for on a device has run, and raises what failed there. Nothing happens where there is no GPU."""
    if is_available():
        _core._wgpu_synchronize(_number(device))
