"""The dtypes that `reg_info` registers, and the conversions to them: MindSpore's kernels get what they registered."""

from __future__ import annotations

from ... import _core
from ..dtype import OF_CORE, to_core

# Inputs of these dtypes are converted where only the other one is registered.
_CONVERTED = {
    _core.int64: _core.int32,
    _core.int16: _core.int32,
    _core.float64: _core.float32,
    _core.float16: _core.float32,
}


def registered(info):
    """The registered combinations of dtypes, of inputs and then outputs: opforge's, or None for any."""
    return [[to_core(name) if name else None for name, *_ in combination] for combination in info.get("dtype_format", ())]


def fitting(combinations, given):
    """The first combination that inputs of these dtypes are, or else can be converted to; None if there is none."""
    for converted in ({}, _CONVERTED):
        for combination in combinations:
            if all(core in (None, dtype, converted.get(dtype)) for core, dtype in zip(combination, given)):
                return combination
    return None


def described(combinations) -> str:
    """The combinations, for errors."""
    return "; ".join(", ".join("any" if core is None else str(OF_CORE[core]) for core in combination) for combination in combinations)
