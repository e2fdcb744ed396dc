"""Which CUDA devices there are, and the thread's current one."""

from __future__ import annotations

import collections

from .. import _core
from .._absent.accelerators import DeviceAbsentError

__all__ = [
    "can_device_access_peer", "current_blas_handle", "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "init", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "is_tf32_supported",
    "set_device", "synchronize", "temperature", "utilization",
]  # fmt: skip

_Properties = collections.namedtuple("_CudaDeviceProperties", "name major minor total_memory multi_processor_count")


def device_count() -> int:
    """The number of GPUs; 0 where there is none, or no driver."""
    return _core._cuda_count()


def is_available() -> bool:
    """Whether there is a GPU."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether a GPU has been opened: processes that are forked from now on cannot use it."""
    return _core._cuda_is_open()


def _need_a_device():
    if not is_available():
        raise DeviceAbsentError("cuda: there is no CUDA device: no GPU, or no driver")


def init() -> None:
    """Opens the current device, which otherwise happens where it is first used. A DeviceAbsentError where there is none."""
    _core._cuda_open(current_device())


def number(device) -> int:
    """The number of a device, which may be one, its name, its number, or None for the current one."""
    _need_a_device()
    if isinstance(device, int):
        return device if device >= 0 else current_device()
    device = _core.device("cuda" if device is None else device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return current_device() if device.index is None else device.index


def current_device() -> int:
    """The number of the thread's current device, for which "cuda" stands; at first 0."""
    _need_a_device()
    return _core._cuda_current()


def set_device(device) -> None:
    """Makes a device the thread's current one; a negative number changes nothing."""
    if not isinstance(device, int) or device >= 0:
        _core._cuda_set_current(number(device))


class device:
    """A context in which a device is the thread's current one; None and negative numbers leave it as it is."""

    def __init__(self, device):
        changes = device is not None and not (isinstance(device, int) and device < 0)
        self._device, self._before = device if changes else None, []

    def __enter__(self):
        self._before.append(None if self._device is None else current_device())
        if self._device is not None:
            set_device(self._device)
        return self

    def __exit__(self, *exception):
        before = self._before.pop()
        if before is not None:
            set_device(before)


class device_of(device):
    """A context in which a tensor's device is the current one; tensors elsewhere leave it as it is."""

    def __init__(self, obj):
        super().__init__(obj.device if obj.is_cuda else None)


def get_device_properties(device=None):
    """A device's `name`, compute capability (`major`, `minor`), `total_memory` in bytes, `multi_processor_count`."""
    name, capability, total, processors = _core._cuda_properties(number(device))
    return _Properties(name, *capability, total, processors)


def get_device_name(device=None) -> str:
    """What a device's maker calls it."""
    return get_device_properties(device).name


def get_device_capability(device=None) -> tuple[int, int]:
    """A device's compute capability: (9, 0) is Hopper."""
    return tuple(get_device_properties(device)[1:3])


def get_arch_list() -> list[str]:
    """What kernels are compiled for: those devices that there are."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def is_bf16_supported(including_emulation=True) -> bool:
    """Whether kernels take bfloat16: wherever there is a GPU."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Whether the current device has TensorFloat-32, which `backends.cuda.matmul.allow_tf32` lets products use."""
    return is_available() and get_device_capability() >= (8, 0)


def can_device_access_peer(device, peer_device) -> bool:
    """Whether a device reads another's memory: tensors are copied by way of the host."""
    number(device), number(peer_device)
    return False


def synchronize(device=None) -> None:
    """Waits until everything that was called for on a device has run, and raises what failed there. Nothing happens where there is no GPU."""
    if is_available():
        _core._cuda_synchronize(number(device))


def ipc_collect() -> None:
    """Nothing happens: processes share no memory of GPUs."""


def _needs(name, what):
    def function(*args, **kwargs):
        number(None)
        raise RuntimeError(f"cuda.{name}(): {what}")

    function.__name__, function.__doc__ = name, f"An error: {what}."
    return function


current_blas_handle = _needs("current_blas_handle", "the handle of cuBLAS, where that is used, is opforge's own")
temperature = _needs("temperature", "opforge does not ask for what GPUs are measured by; nvidia-smi does")
utilization = _needs("utilization", "opforge does not ask for what GPUs are measured by; nvidia-smi does")
