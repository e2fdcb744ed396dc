"""The settings that programs begin with: device and mode."""

from __future__ import annotations

from .. import cuda

GRAPH_MODE = 0
PYNATIVE_MODE = 1

_DEVICES = ("CPU", "GPU", "Ascend")
# What `set_context` takes, with defaults. Only `device_target` changes what opforge does: calls are always run as they are made.
_settings = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "device_id": 0,
    "deterministic": "OFF",
    "enable_graph_kernel": False,
    "jit_level": "",
    "max_call_depth": 1000,
    "pynative_synchronize": False,
    "save_graphs": False,
    "save_graphs_path": ".",
}


def set_context(**kwargs):
    """Changes settings: `mode` (`GRAPH_MODE` or `PYNATIVE_MODE`), `device_target` (`"CPU"` or `"GPU"`), `device_id`, ...

    Raises `ValueError` for a setting that there is not, and `RuntimeError` for a device that there is not.

    >>> set_context(mode=PYNATIVE_MODE, device_target="CPU")
    """
    for key, value in kwargs.items():
        _known("set_context", key)
        if key == "mode" and value not in (GRAPH_MODE, PYNATIVE_MODE):
            raise ValueError(f"set_context: mode must be GRAPH_MODE (0) or PYNATIVE_MODE (1), not {value!r}")
        if key == "device_target":
            _check_device(value)
    _settings.update(kwargs)


def get_context(attr_key: str):
    """A setting's value.

    >>> get_context("device_target")
    'CPU'
    """
    return _settings[_known("get_context", attr_key)]


def set_device(device_target: str, device_id: int | None = None):
    """Chooses the device that operators run on: `"CPU"` or `"GPU"`. Raises `RuntimeError` if there is none."""
    set_context(device_target=device_target, device_id=device_id or 0)


def get_current_device():
    """The device's kind and number.

    >>> get_current_device()
    ('CPU', 0)
    """
    return _settings["device_target"], _settings["device_id"]


def _known(function: str, key: str) -> str:
    if key not in _settings:
        raise ValueError(f"{function}: there is no setting {key!r} (accepted: {', '.join(_settings)})")
    return key


def _check_device(name: str):
    if name not in _DEVICES:
        raise ValueError(f"device_target must be one of {', '.join(_DEVICES)}, not {name!r}")
    if name == "Ascend" or name == "GPU" and not cuda.is_available():
        raise RuntimeError(f"device_target {name}: there is no such device here (accepted: CPU)")
