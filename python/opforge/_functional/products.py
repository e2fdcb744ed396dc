"""Products of groups of rows or columns, as mixtures of experts need them."""

from __future__ import annotations

from .. import _core as _C
from .._calls.arguments import name_arguments


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """The products of groups: `mat_a[i] @ mat_b[i]` of two batches, or of what stands for one, a matrix whose groups end at `offs`.

    - `(M, K)` and `(G, K, N)`: the rows of group `i` times `mat_b[i]`, together `(M, N)`; rows after the last group are 0.
    - `(G, M, K)` and `(K, N)`: `mat_a[i]` times the columns of group `i`, together `(M, N)`; columns after the last group are 0.
    - `(M, K)` and `(K, N)`: the products over the parts of `K`, `(G, M, N)`.
    - `(G, M, K)` and `(G, K, N)`: `(G, M, N)`, without `offs`.
    """
    _check(mat_a, mat_b, offs, bias)
    if offs is None:
        result = mat_a @ mat_b
    else:
        ends = offs.tolist()
        result = _of_groups(mat_a, mat_b, list(zip([0, *ends], ends)))
    return result if out_dtype is None else result.to(out_dtype)


def _of_groups(a, b, groups):
    if a.dim() == b.dim() == 2:
        return _C.stack([a[:, start:end] @ b[start:end] for start, end in groups])
    if a.dim() == 2:
        parts, dim, length = [a[start:end] @ b[i] for i, (start, end) in enumerate(groups)], 0, len(a)
        rest = [length - groups[-1][1], b.shape[-1]]
    else:
        parts, dim, length = [a[i] @ b[:, start:end] for i, (start, end) in enumerate(groups)], 1, b.shape[-1]
        rest = [a.shape[-2], length - groups[-1][1]]
    return _C.cat([*parts, parts[0].new_zeros(rest)] if rest[dim] else parts, dim)


def _check(a, b, offs, bias):
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported, expected None")
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise RuntimeError(f"grouped_mm: operands of {a.dim()} and {b.dim()} dimensions, expected 2 or 3")
    if a.dtype != b.dtype:
        raise RuntimeError(f"grouped_mm: operands of dtype {a.dtype} and {b.dtype}, expected the same")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"grouped_mm: contraction of {a.shape[-1]} and {b.shape[-2]} elements, expected the same")
    if (offs is None) != (a.dim() == b.dim() == 3):
        raise RuntimeError("grouped_mm: offs goes with an operand of 2 dimensions, and with none of 3")
    batches = [x.shape[0] for x in (a, b) if x.dim() == 3]
    if offs is None:
        if batches[0] != batches[1]:
            raise RuntimeError(f"grouped_mm: batches of {batches[0]} and {batches[1]}, expected the same")
        return
    if offs.dim() != 1 or offs.dtype != _C.int32 or len(offs) == 0:
        raise RuntimeError(f"grouped_mm: offs of dtype {offs.dtype} and shape {tuple(offs.shape)}, expected a vector of int32")
    if batches and len(offs) != batches[0]:
        raise RuntimeError(f"grouped_mm: {len(offs)} ends of groups, expected {batches[0]}")
    ends = [0, *offs.tolist()]
    length = a.shape[-1] if not batches else len(a) if a.dim() == 2 else b.shape[-1]
    if any(x > y for x, y in zip(ends, ends[1:])) or ends[-1] > length:
        raise RuntimeError(f"grouped_mm: groups end at {ends[1:]}, expected an ascending list of at most {length}")


def _grouped_mm(input, mat2, offs=None, bias=None, out_dtype=None):
    """[`grouped_mm`]."""
    return grouped_mm(input, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


name_arguments(globals())
