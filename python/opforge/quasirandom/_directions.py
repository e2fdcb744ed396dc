"""The direction numbers of Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections" (SIAM J. Sci. Comput. 30, 2008), found by
the criterion D(6); tools/sobol.py says how they are packed, LICENSE-directions who made them."""

from __future__ import annotations

import functools
import importlib.resources
import zlib

from .. import _core

_POLYNOMIALS = 2**15


@functools.cache
def _table():
    return zlib.decompress(importlib.resources.files(__package__).joinpath("directions.bin").read_bytes())


def _dimensions(count):
    """For `count` dimensions from the second: the polynomial over GF(2), as a number, and as many odd numbers as its degree."""
    table, at = _table(), 8 * _POLYNOMIALS
    polynomials = (2 * (8 * place + bit) + 1 for place in range(_POLYNOMIALS) for bit in range(8) if table[place] >> bit & 1)
    for polynomial, _ in zip(polynomials, range(count)):
        degree = polynomial.bit_length() - 1
        end = at + degree * (degree - 1) // 2
        bits = int.from_bytes(table[at // 8 : -(-end // 8)], "big") >> -end % 8
        numbers, at = [], end
        for width in reversed(range(degree)):
            numbers.insert(0, (bits & (1 << width) - 1) << 1 | 1)
            bits >>= width
        yield polynomial, numbers


def directions(dimension, bits):
    """The direction numbers `(dimension, bits)`, int64: the `j`-th of each is an odd number below `2**(j + 1)`, times `2**(bits - 1 - j)`."""
    blocks, group = [_core.ones((1, bits), dtype=_core.int64)], []
    for one in _dimensions(dimension - 1):
        if group and one[0].bit_length() != group[0][0].bit_length():
            blocks.append(_continued(group, bits))
            group = []
        group.append(one)
    if group:
        blocks.append(_continued(group, bits))
    return _core.cat(blocks) << _core.arange(bits - 1, -1, -1)


def _continued(group, bits):
    """The odd numbers `(dimensions, bits)` of polynomials of one degree `s`, by the recurrence

    `m[j] = 2 c₁ m[j-1] ⊕ 2² c₂ m[j-2] ⊕ .. ⊕ 2ˢ m[j-s] ⊕ m[j-s]` with the coefficients `c` of the polynomial, from the second highest.
    """
    polynomials, first = (_core.tensor(part, dtype=_core.int64) for part in zip(*group))
    columns, degree = list(first.unbind(1))[:bits], first.shape[1]
    coefficients = [polynomials >> (degree - k) & 1 for k in range(1, degree + 1)]
    while len(columns) < bits:
        new = columns[-degree]
        for k, coefficient in enumerate(coefficients, 1):
            new = new ^ (coefficient * columns[-k] << k)
        columns.append(new)
    return _core.stack(columns, 1)
