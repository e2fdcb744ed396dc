"""The names of PyTorch's dtypes that opforge does not have. Programs put them in tables and compare with them; no tensor is of one, and to ask for one is a
TypeError.
"""

from __future__ import annotations

import types

from .. import _core

_FLOATING = "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"
_OTHERS = "complex32 qint8 qint32 quint8 quint4x2 quint2x4 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7"
NAMES = f"{_FLOATING} {_OTHERS}".split()


class AbsentDtype:
    """A dtype that opforge does not have."""

    def __init__(self, name):
        self._name = name
        self.is_floating_point, self.is_complex = name in _FLOATING.split(), name == "complex32"

    def __repr__(self):
        return f"opforge.{self._name}"


globals().update({name: AbsentDtype(name) for name in NAMES})
chalf = globals()["complex32"]

# The largest number, the distance from 1 to the next, and the smallest normal number, of 8 bits: Micikevicius et al., FP8 Formats for Deep Learning (2022).
_LIMITS = {"float8_e4m3fnuz": (240.0, 0.125, 2.0**-7), "float8_e5m2fnuz": (57344.0, 0.125, 2.0**-15)}


def finfo(type=None):
    """`opforge.finfo`, which knows the limits of some dtypes that opforge does not have."""
    if not isinstance(type, AbsentDtype) or type._name not in _LIMITS:
        return _core.finfo() if type is None else _core.finfo(type)
    largest, eps, tiny = _LIMITS[type._name]
    return types.SimpleNamespace(
        bits=8, max=largest, min=-largest, eps=eps, tiny=tiny, smallest_normal=tiny, resolution=1.0, dtype=type._name
    )
