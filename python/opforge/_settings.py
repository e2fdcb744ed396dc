"""What programs set about how computations run, beyond `opforge.set_num_threads`. Most of it kernels do not need: values are kept, so that they can be asked for."""

from __future__ import annotations

from . import _core

_deterministic = _warn_only = False
_precision = "highest"
_warn_always = False
_interop_threads = 1


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Keeps a wish for deterministic kernels. All are: results depend on shapes alone, not on threads."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` asked for them."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by number or name: 0 "default", 1 "warn", 2 "error"."""
    names = {"default": 0, "warn": 1, "error": 2}
    mode = names.get(debug_mode, debug_mode)
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected one of {sorted(names)} or 0, 1, 2, but got {debug_mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not _deterministic else 1 if _warn_only else 2


def set_float32_matmul_precision(precision):
    """Has products of matrices of float32 on CUDA devices computed in full ("highest", at first) or as TF32 ("high", "medium"). The CPU's are in full always."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"Unknown float32 matmul precision {precision!r} (accepted: 'highest', 'high', 'medium')")
    _core._cuda_set_tf32_products(precision != "highest")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` set last, "highest" at first."""
    return _precision


def set_warn_always(b):
    """Keeps a wish for warnings that come more than once."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` set last."""
    return _warn_always


def set_flush_denormal(mode) -> bool:
    """Whether subnormal numbers can be taken for zero: never, they are computed with."""
    return False


def get_num_interop_threads() -> int:
    """The number of queues of calls."""
    return _interop_threads


def set_num_interop_threads(int):
    """Keeps a number of queues; calls run in one."""
    global _interop_threads
    _interop_threads = int


def get_device_module(device=None):
    """The module of a device's type: `opforge.cpu`, `opforge.cuda`, .."""
    import importlib

    kind = _core.device("cpu" if device is None else device).type
    try:
        return importlib.import_module(f".{kind}", __package__)
    except ModuleNotFoundError:
        raise RuntimeError(f"Invalid device module '{kind}': there is no such module") from None


