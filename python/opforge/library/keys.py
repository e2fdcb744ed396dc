"""Whom functions of operators are for: types of devices and PyTorch's dispatch keys, which the first are written as."""

from __future__ import annotations

from .. import _core
from .._C._dispatch import DispatchKey

# What computes on any device; of differentiable calls, which graphs and autograd see one by one; and above autograd.
DEFAULT, COMPOSITION, AUTOGRAD, META = "compositeexplicitautograd", "compositeimplicitautograd", "autograd", "meta"
_KNOWN = {key.name.lower() for key in DispatchKey}
_SAME = {"default": DEFAULT, "backendselect": DEFAULT, "compositeexplicitautogradnonfunctional": DEFAULT}


def key_of(name: str | None) -> str:
    """The key that a type of devices, a dispatch key or None, which is every device, stands for. RuntimeError for a name of neither."""
    key = "default" if name is None else name.lower()
    if key not in _KNOWN | _SAME.keys():
        try:
            _core.device(key)
        except _core.DeviceError:
            accepted = "names such as CPU, Autograd, cpu, cuda, default"
            raise RuntimeError(f"library: {name!r} is no dispatch key and no type of devices (accepted: {accepted})") from None
    return _SAME.get(key, key)
