"""Other forms of functions: in place or not, of a fixed size, in another order of memory, deprecated."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import NamedTuple

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.intercept import shown
from .._calls.outputs import takes_out
from .._tensors.layouts import creates


def float_power_(self, exponent):
    """`float_power` in place: of a tensor of float64, or of complex128 where powers are."""
    result = _C.float_power(self, exponent)
    if result.dtype != self.dtype:
        raise RuntimeError(f"float_power_: the base has dtype {self.dtype}, but the operation's result requires dtype {result.dtype}")
    return self.copy_(result)


def conj_physical_(input):
    """Complex conjugates in place."""
    return input.copy_(input.conj()) if input.is_complex() else input


def put(input, index, source, accumulate=False):
    """The tensor with the elements of `source` at these places of the flattened one, added to what is there if `accumulate`."""
    return input.clone().put_(index, source, accumulate)


def fill(input, value):
    """A tensor of this shape and dtype, full of `value`, a number or a tensor without dimensions."""
    return input.clone().fill_(value)


@takes_out
def nonzero_static(input, *, size, fill_value=-1):
    """The first `size` rows of `nonzero`, with rows of `fill_value` after them if they are fewer."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size={size}, expected 0 or more")
    found = input.nonzero()[:size]
    return _C.cat([found, found.new_full([size - len(found), input.dim()], fill_value)]) if len(found) < size else found


@creates
def empty_permuted(size, physical_layout, *, dtype=None, device=None, requires_grad=False):
    """A tensor that is not filled, whose dimensions lie in memory in the order `physical_layout`, the slowest first."""
    if sorted(physical_layout) != list(builtins.range(len(size))):
        raise RuntimeError(f"empty_permuted: physical_layout {list(physical_layout)}, expected each dimension of {len(size)} once")
    steps, step = [0] * len(size), 1
    for d in reversed(list(physical_layout)):
        steps[d] = step
        step *= max(size[d], 1)
    return _C.empty_strided(list(size), steps, dtype=dtype, device=device, requires_grad=requires_grad)


@creates
@takes_out
def range(start, end, step=1, *, dtype=None, device=None, requires_grad=False):
    """Numbers from `start` to `end`, which is one of them, by `step`. Deprecated: `arange` stops before its end."""
    warnings.warn("range is deprecated: its end is one of the numbers; use arange", UserWarning, stacklevel=4)
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError(f"range: step={step} from {start} to {end}, expected a step other than 0 in the direction of the end")
    numbers = _C.arange(math.floor((end - start) / step) + 1, dtype=_C.float64, device=device) * step + start
    return numbers.to(dtype or _C.get_default_dtype()).requires_grad_(requires_grad)


class _TriangularSolve(NamedTuple):
    solution: _C.Tensor
    cloned_coefficient: _C.Tensor


@shown
@takes_out
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """`X` with `A X = b`, or `Aᵀ X = b`, for triangular `A`, and a copy of `A`. Deprecated: use `linalg.solve_triangular`."""
    left = A.mT if transpose else A
    solution = _C.linalg.solve_triangular(left, b, upper=upper != transpose, unitriangular=unitriangular)
    return _TriangularSolve(solution, A.clone())


name_arguments(globals())
