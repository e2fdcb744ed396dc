"""What programs ask of devices that opforge has no module for (`xpu`, and `mps` but on Apple's machines): as PyTorch where there is no such device.
Questions have answers, memory is 0 bytes, and what needs the device is a DeviceAbsentError.
"""

from __future__ import annotations

_ZERO = """
device_count max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached memory_reserved current_allocated_memory
driver_allocated_memory
"""
_FALSE = "is_available is_initialized is_bf16_supported is_tf32_supported is_current_stream_capturing"
_NOTHING = """
empty_cache ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
reset_peak_memory_stats seed seed_all set_rng_state_all synchronize
"""
_NEEDS = """
can_device_access_peer current_blas_handle current_device current_stream default_stream get_device_capability get_device_name get_device_properties
get_per_process_memory_fraction get_rng_state init initial_seed make_graphed_callables mem_get_info memory_summary set_device
set_per_process_memory_fraction set_rng_state temperature utilization
"""


class DeviceAbsentError(AssertionError, RuntimeError):
    """A call that needs a device which is not there."""


def _answer(value, doc):
    def function(*args, **kwargs):
        return value

    function.__doc__ = doc
    return function


def absent_device(name, reason="there is no such device"):
    """The functions of the module of a device of that name, by their names; those that need it say the reason."""
    error = f"{name}: {reason}"

    def fail(*args, **kwargs):
        raise DeviceAbsentError(error)

    fail.__doc__ = f"Needs {name}: a DeviceAbsentError."
    made = {
        **dict.fromkeys(_ZERO.split(), _answer(0, f"0: there is no {name} device.")),
        **dict.fromkeys(_FALSE.split(), _answer(False, f"False: there is no {name} device.")),
        **dict.fromkeys(_NOTHING.split(), _answer(None, f"Nothing happens: there is no {name} device.")),
        **dict.fromkeys(_NEEDS.split(), fail),
        "memory_stats": lambda *args, **kwargs: {},
        "memory_snapshot": lambda *args, **kwargs: [],
        "get_rng_state_all": lambda: [],
        "get_arch_list": lambda: [],
    }
    kinds = {kind: type(kind, (), {"__init__": fail, "__doc__": f"Needs {name}."}) for kind in ("Stream", "Event", "MemPool")}
    return made | kinds | {"device": _device_context(error), "device_of": _device_context(error), "stream": _stream_context(error)}


def _device_context(error):
    class device:
        """A context in which a device is the current one; None and negative numbers leave it as it is."""

        def __init__(self, device):
            self._changes = device is not None and not (isinstance(device, int) and device < 0) and getattr(device, "is_cuda", True)

        def __enter__(self):
            if self._changes:
                raise DeviceAbsentError(error)
            return self

        def __exit__(self, *exception):
            return None

    return device


def _stream_context(error):
    class stream(_device_context(error)):
        """A context in which a stream is the current one; None leaves it as it is."""

    return stream
