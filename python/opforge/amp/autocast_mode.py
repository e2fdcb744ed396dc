"""`autocast`, and the thread's state of it, device type by device type. Those of "cpu" and "cuda" have an effect."""

from __future__ import annotations

import functools
import threading
import warnings

from .. import _core
from .._calls import intercept as _intercept
from .._calls.tracing import is_compiling
from ..autograd.grad_mode import _Mode
from ._casts import cast

# What programs name as device types; those that are not there have a state, as they have in PyTorch, and no tensors.
_DEFAULTS = {"cpu": _core.bfloat16} | dict.fromkeys(("cuda", "xpu", "mps", "mtia", "hpu", "privateuseone"), _core.float16)
_DEFAULTS |= {"xla": _core.bfloat16, "maia": _core.bfloat16, "ipu": _core.float16}
_LOWER = (_core.bfloat16, _core.float16)


class _Thread(threading.local):
    def __init__(self):
        self.enabled = dict.fromkeys(_DEFAULTS, False)
        self.dtype = dict(_DEFAULTS)
        self.caches = True
        self.nesting = 0
        self.cache = {}


_thread = _Thread()


def _known(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type not in _DEFAULTS:
        raise RuntimeError(f"autocast: device_type {device_type!r}, expected one of {', '.join(_DEFAULTS)}")
    return device_type


def is_autocast_available(device_type):
    """Whether there is autocast for a device type."""
    return device_type in _DEFAULTS


def is_autocast_enabled(device_type="cuda"):
    """Whether this thread casts arguments on a device type."""
    return _thread.enabled[_known(device_type)]


def set_autocast_enabled(device_type, enabled=None):
    """Sets whether this thread casts arguments on a device type; `set_autocast_enabled(flag)` is about "cuda"."""
    device_type, enabled = ("cuda", device_type) if enabled is None else (device_type, enabled)
    _thread.enabled[_known(device_type)] = bool(enabled)
    _renew()


def get_autocast_dtype(device_type):
    """The lower precision on a device type."""
    return _thread.dtype[_known(device_type)]


def set_autocast_dtype(device_type, dtype):
    """Sets the lower precision on a device type."""
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"set_autocast_dtype(): dtype must be a dtype, not {type(dtype).__name__}")
    _thread.dtype[_known(device_type)] = dtype
    _renew()


def is_autocast_cache_enabled():
    """Whether parameters are cast once in a block, rather than for each call."""
    return _thread.caches


def set_autocast_cache_enabled(enabled):
    """Sets whether parameters are cast once in a block."""
    _thread.caches = bool(enabled)


def clear_autocast_cache():
    """Forgets the parameters that were cast."""
    _thread.cache.clear()


def autocast_increment_nesting():
    """Enters a block; gives the number of blocks."""
    _thread.nesting += 1
    return _thread.nesting


def autocast_decrement_nesting():
    """Leaves a block; gives the number of blocks."""
    _thread.nesting -= 1
    return _thread.nesting


def _renew():
    """Has the thread's calls shown while autocast is enabled for devices that there may be."""
    dtypes = tuple((device_type, _thread.dtype[device_type]) for device_type in ("cpu", "cuda") if _thread.enabled[device_type])
    _intercept.thread.cast = _cast_to(dtypes) if dtypes else None
    _intercept.show()


@functools.cache
def _cast_to(dtypes):
    """The change of a call's arguments, one object for each choice of dtypes: programs that were traced under it are told apart by it."""
    return functools.partial(cast, {device_type: functools.partial(_lower, dtype) for device_type, dtype in dtypes})


def _lower(dtype, tensor):
    """A tensor in the lower precision. Leaves that need a gradient are cast once, unless a graph is traced, which others must not share."""
    if tensor.dtype is dtype:
        return tensor
    if not (_thread.caches and _thread.nesting and tensor.requires_grad and tensor.is_leaf) or is_compiling():
        return tensor.to(dtype)
    key = id(tensor), dtype, _core.is_grad_enabled()
    held, version, lower = _thread.cache.get(key, (None, None, None))
    if held is None or version != tensor._version:
        lower = tensor.to(dtype)
        _thread.cache[key] = tensor, tensor._version, lower
    return lower


class autocast(_Mode):
    """A block, or a decorated function, in which products run in a lower precision: their arguments are cast to `dtype`, those of functions that lose
    too much by it (losses, norms, factorisations) to float32, and those that are joined to the widest among them, as PyTorch documents for the CPU.
    Gradients have the dtypes of what was cast. Float64 stays as it is.

    `device_type` is "cpu" or "cuda", which is disabled with a warning where there is no GPU. `dtype` is bfloat16, the CPU's default, or float16, CUDA's.
    Blocks may be nested, `enabled=False` ends casting within, and threads have states of their own. `cache_enabled` says whether parameters are cast
    once in the outermost block.

    >>> with opforge.autocast("cpu"):
    ...     y = opforge.ones(2, 2) @ opforge.ones(2, 2)
    >>> y.dtype
    opforge.bfloat16
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _known(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._is_possible()
        self._before = []

    def _is_possible(self):
        if self.device == "cuda" and not _core._cuda_count():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
            return False
        if self.device == "cpu" and self.fast_dtype not in _LOWER:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=3,
            )
            return False
        return True

    def __enter__(self):
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device), is_autocast_cache_enabled()))
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        self._set(*self._before.pop())

    def _set(self, enabled, dtype, caches):
        _thread.dtype[self.device] = dtype
        _thread.caches = caches
        set_autocast_enabled(self.device, enabled)

    def _again(self):
        return self


def _cast_inputs(value, dtype):
    if isinstance(value, _core.Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype is not _core.float64 else value
    if isinstance(value, dict):
        return {_cast_inputs(key, dtype): _cast_inputs(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast_inputs(item, dtype) for item in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates `forward` of a `Function`. With `cast_inputs`, a dtype, within autocast its float tensors are cast to that and it runs without autocast;
    else it runs in the state that it is called in, which `custom_bwd` gives its backward too."""
    _known(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        args = [ctx, *_cast_inputs(list(args[1:]), cast_inputs)]
        with autocast(device_type, enabled=False):
            return fwd(*args, **_cast_inputs(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorates `backward` of a `Function` whose `forward` has `custom_fwd`: it runs in the state of autocast that forward ran in."""
    _known(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx, *args, **kwargs):
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated
