"""How elements of several processes become one."""

from __future__ import annotations

import enum

from .. import _core


class ReduceOp(enum.IntEnum):
    """How elements of several processes become one: SUM, AVG (of floats), PRODUCT, MIN, MAX. The others are errors when they are used."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


reduce_op = ReduceOp.RedOpType = ReduceOp
_NAMES = {ReduceOp.SUM: "sum", ReduceOp.AVG: "sum", ReduceOp.PRODUCT: "product", ReduceOp.MIN: "min", ReduceOp.MAX: "max"}


def named(name, op, tensor) -> str:
    """The engine's name of a reduction. Raises NotImplementedError for those that are not there, DTypeError for averages of integers."""
    if op not in _NAMES:
        shown = op.name if isinstance(op, ReduceOp) else repr(op)
        raise NotImplementedError(f"{name}: op={shown}, expected SUM, AVG, PRODUCT, MIN or MAX")
    if op == ReduceOp.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        raise _core.DTypeError(f"{name}: AVG of {tensor.dtype}, expected floats: ReduceOp.SUM gives sums of integers")
    return _NAMES[op]


def ended(op, result, size):
    """A reduction as the engine gives it, made an average if it is to be one."""
    return result.div_(size) if op == ReduceOp.AVG else result
