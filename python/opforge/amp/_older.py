"""Older names, device by device: `torch.cpu.amp`, `torch.cuda.amp`, and functions of autocast's state. Programs that use them are told the newer ones."""

from __future__ import annotations

import warnings

from .. import _core
from . import autocast_mode, grad_scaler


def _deprecate(name, device):
    message = f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead."
    warnings.warn(message, FutureWarning, stacklevel=3)


def _autocast(device_type, default):
    class autocast(autocast_mode.autocast):
        __doc__ = f'`opforge.autocast("{device_type}", ..)`.'

        def __init__(self, enabled=True, dtype=default, cache_enabled=True):
            _deprecate("autocast", device_type)
            super().__init__(device_type, dtype, enabled, cache_enabled)

    return autocast


def _scaler(device_type):
    class GradScaler(grad_scaler.GradScaler):
        __doc__ = f'`opforge.amp.GradScaler("{device_type}", ..)`.'

        def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
            _deprecate("GradScaler", device_type)
            super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return GradScaler


cpu_autocast, cpu_GradScaler = _autocast("cpu", _core.bfloat16), _scaler("cpu")
cuda_autocast, cuda_GradScaler = _autocast("cuda", _core.float16), _scaler("cuda")


def _decorator(name):
    newer = getattr(autocast_mode, name)

    def decorate(function=None, **options):
        _deprecate(name, "cuda")
        return newer(function, device_type="cuda", **options)

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = f"`opforge.amp.{name}(.., device_type='cuda')`."
    return decorate


cuda_custom_fwd, cuda_custom_bwd = _decorator("custom_fwd"), _decorator("custom_bwd")


def _older(name, newer, device_type):
    """A function of autocast's state with the device type in its name."""
    function = getattr(autocast_mode, newer)

    def call(*value):
        message = f"torch.{name}() is deprecated. Please use torch.{newer}('{device_type}') instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return function(device_type, *value)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{newer}` of {device_type!r}."
    return call


is_autocast_cpu_enabled = _older("is_autocast_cpu_enabled", "is_autocast_enabled", "cpu")
set_autocast_cpu_enabled = _older("set_autocast_cpu_enabled", "set_autocast_enabled", "cpu")
get_autocast_cpu_dtype = _older("get_autocast_cpu_dtype", "get_autocast_dtype", "cpu")
set_autocast_cpu_dtype = _older("set_autocast_cpu_dtype", "set_autocast_dtype", "cpu")
get_autocast_gpu_dtype = _older("get_autocast_gpu_dtype", "get_autocast_dtype", "cuda")
set_autocast_gpu_dtype = _older("set_autocast_gpu_dtype", "set_autocast_dtype", "cuda")
