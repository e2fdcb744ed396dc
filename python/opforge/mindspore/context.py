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
    "ascend_config": {},
    "auto_tune_mode": "NO_TUNE",
    "check_bprop": False,
    "compile_cache_path": ".",
    "debug_level": 0,
    "disable_format_transform": False,
    "enable_compile_cache": False,
    "enable_dump": False,
    "enable_graph_kernel_flags": "",
    "env_config_path": "",
    "gpu_config": {},
    "graph_kernel_flags": "",
    "grad_for_scalar": False,
    "inter_op_parallel_num": 0,
    "jit_config": {},
    "jit_syntax_level": 2,
    "load_compile_cache": "",
    "max_device_memory": "1024GB",
    "memory_offload": "OFF",
    "memory_optimize_level": "O0",
    "mempool_block_size": "1GB",
    "op_timeout": 900,
    "precompile_only": False,
    "print_file_path": "",
    "reserve_class_name_in_scope": True,
    "runtime_num_threads": 30,
    "save_dump_path": ".",
    "variable_memory_max_size": "30GB",
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


def set_auto_parallel_context(**kwargs):
    """Raises `NotImplementedError` unless the mode is `"stand_alone"`: see `opforge.distributed`."""
    mode = kwargs.get("parallel_mode", ParallelMode.STAND_ALONE)
    if mode != ParallelMode.STAND_ALONE:
        raise NotImplementedError(f"mindspore.set_auto_parallel_context: parallel_mode {mode!r} (accepted: 'stand_alone'; see opforge.distributed)")


def get_auto_parallel_context(attr_key: str):
    """A setting of parallel runs: of one process that runs alone."""
    return {"parallel_mode": ParallelMode.STAND_ALONE, "device_num": 1, "global_rank": 0, "gradients_mean": False}.get(attr_key)


def reset_auto_parallel_context():
    """Does nothing: there is nothing to bring back."""


class ParallelMode:
    """Names of the modes of parallel runs, of which there is `STAND_ALONE` here."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


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
