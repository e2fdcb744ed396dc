"""Sparse tensors of indices and values."""

from __future__ import annotations

from numbers import Integral

from .. import _core
from ._coo import coo
from ._csr import SparseCscTensor, SparseCsrTensor, compressed


def _values_of(values, dtype, device):
    if isinstance(values, _core.Tensor):
        return values.clone() if dtype is None else values.to(dtype, copy=True)
    return _core.tensor(values, dtype=dtype, device=device)


def _indices_of(name, argument, indices):
    indices = indices.detach().clone() if isinstance(indices, _core.Tensor) else _core.tensor(indices)
    if indices.numel() and (indices.is_floating_point() or indices.is_complex() or indices.dtype == _core.bool):
        raise _core.DTypeError(f"{name}: {argument} of integers expected, got {indices.dtype}")
    return indices


def sparse_coo_tensor(
    indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, is_coalesced=None
):  # fmt: skip
    """A tensor of which only the elements at `indices` `(sparse_dim, nnz)` are there: `values` `(nnz, *dense sizes)`; the others are 0.

    `size` is by default the least that has room for them. Values at one place count as their sum, which `coalesce()` makes of them. Gradients flow through
    `values`. Indices, and that they are in order if `is_coalesced` says so, are always checked, whatever `check_invariants` says. The tensor has copies of
    what it is made of. `sparse_coo_tensor(size)` has no values.

    Errors: ValueError for what does not fit together, IndexError for indices outside of `size`.

    >>> opforge.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense().tolist()
    [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
    """
    name = "sparse_coo_tensor"
    if values is None:
        from ._conversions import empty

        sizes = _ints(name, size if indices is None else indices)
        return empty(sizes, len(sizes), dtype or _core.get_default_dtype(), device).requires_grad_(requires_grad)
    elements = _values_of(values, dtype, device)
    places = _indices_of(name, "indices", indices).to(elements.device, _core.int64)
    elements = elements.unsqueeze(0) if not elements.dim() else elements
    if places.dim() == 1 and not len(places):
        places = places.reshape(0, len(elements))
    if places.dim() != 2:
        raise _core.ArgumentError(f"{name}: indices of 2 dimensions, sparse_dim by nnz, expected, got shape {tuple(places.shape)}")
    if places.shape[1] != len(elements):
        raise _core.ArgumentError(f"{name}: as many values as indices expected, got {len(elements)} values for {places.shape[1]} indices")
    sizes = _sizes_of(name, places, elements, size)
    tensor = coo(places, elements, sizes, bool(is_coalesced))
    if is_coalesced:
        _check_order(name, tensor)
    return tensor.requires_grad_() if requires_grad else tensor


def _ints(name, size):
    """The sizes as a tuple of integers from 0."""
    if not isinstance(size, (tuple, list)) or not all(isinstance(each, Integral) and each >= 0 for each in size):
        raise _core.ArgumentError(f"{name}: size: a sequence of integers from 0 expected, got {size!r}")
    return tuple(map(int, size))


def _sizes_of(name, places, elements, size):
    """The sizes, given or found, into which places and elements fit."""
    dense = list(elements.shape[1:])
    if size is None:
        size = [*((places.amax(1) + 1).tolist() if places.numel() else [0] * len(places)), *dense]
    sizes = list(_ints(name, size))
    if len(sizes) != len(places) + len(dense):
        raise _core.ArgumentError(f"{name}: size of {len(places)} sparse and {len(dense)} dense dimensions expected, got {tuple(sizes)}")
    if sizes[len(places) :] != dense:
        raise _core.ArgumentError(f"{name}: values of shape (nnz, {', '.join(map(str, sizes[len(places) :]))}) expected, got {tuple(elements.shape)}")
    if places.numel():
        least, most = places.amin(1).tolist(), places.amax(1).tolist()
        for dim, (low, high) in enumerate(zip(least, most)):
            if low < 0 or high >= sizes[dim]:
                wrong = low if low < 0 else high
                raise _core.IndexError(f"{name}: size is inconsistent with indices: for dim {dim}, size is {sizes[dim]} but found index {wrong}")
    return sizes


def _check_order(name, tensor):
    from ._coo import flat

    if bool((flat(tensor).diff() <= 0).any()):
        raise _core.ArgumentError(f"{name}: is_coalesced=True, but indices are not in order and each there once")


def sparse_csr_tensor(
    crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None
):
    """A sparse matrix, row by row: row `i` has the `values`, in the columns `col_indices`, from `crow_indices[i]` to `crow_indices[i + 1]`.

    `size` is by default the least that has room for them. It is computed with as with `sparse_coo_tensor`; batches of matrices are not there. Gradients
    flow through `values`. The tensor has copies of what it is made of.

    Errors: ValueError for what does not fit together, IndexError for columns outside of `size`.

    >>> opforge.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3)).to_dense().tolist()
    [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
    """
    return _compressed("sparse_csr_tensor", SparseCsrTensor, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_csc_tensor(
    ccol_indices, row_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None
):
    """As `sparse_csr_tensor`, column by column: column `j` has the `values`, in the rows `row_indices`, from `ccol_indices[j]` to `ccol_indices[j + 1]`."""
    return _compressed("sparse_csc_tensor", SparseCscTensor, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_compressed_tensor(
    compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
    check_invariants=None,
):  # fmt: skip
    """`sparse_csr_tensor` or `sparse_csc_tensor`, by the `layout`."""
    from .._tensors.layouts import sparse_csc, sparse_csr

    kinds = {sparse_csr: SparseCsrTensor, sparse_csc: SparseCscTensor}
    if layout not in kinds:
        raise _core.UnsupportedError(f"sparse_compressed_tensor: layout {layout} (accepted: sparse_csr, sparse_csc)")
    return _compressed("sparse_compressed_tensor", kinds[layout], compressed_indices, plain_indices, values, size, dtype, device, requires_grad)


def _compressed(name, kind, starts, others, values, size, dtype, device, requires_grad):
    """A matrix of indices and values that are checked."""
    starts, others = _indices_of(name, "compressed indices", starts), _indices_of(name, "plain indices", others)
    elements = _values_of(values, dtype, device)
    if starts.dim() != 1 or others.dim() != 1 or elements.dim() != 1 or not len(starts):
        shapes = ", ".join(str(tuple(each.shape)) for each in (starts, others, elements))
        raise _core.ArgumentError(f"{name}: indices and values of one dimension expected, got {shapes}")
    if len(others) != len(elements):
        raise _core.ArgumentError(f"{name}: as many values as plain indices expected, got {len(elements)} and {len(others)}")
    if int(starts[0]) != 0 or int(starts[-1]) != len(others) or bool((starts.diff() < 0).any()):
        raise _core.ArgumentError(f"{name}: compressed indices that rise from 0 to the number of values, {len(others)}, expected, got {starts.tolist()[:8]}")
    starts, others = starts.to(_core.int64), others.to(_core.int64)
    count, most = len(starts) - 1, int(others.max()) + 1 if len(others) else 0
    sizes = [count, most][:: -1 if kind._axis else 1] if size is None else list(_ints(name, size))
    if len(sizes) != 2 or sizes[kind._axis] != count:
        raise _core.ArgumentError(f"{name}: two sizes, of which number {kind._axis} is {count}, expected, got {tuple(sizes)}")
    limit = sizes[1 - kind._axis]
    if len(others) and (int(others.min()) < 0 or most > limit):
        raise _core.IndexError(f"{name}: plain indices from 0 to {limit - 1} expected, got {int(others.min())} to {most - 1}")
    tensor = compressed(kind, starts, others, elements, sizes, _in_order(starts, others))
    return tensor.requires_grad_() if requires_grad else tensor


def _in_order(crow, col):
    """Whether the columns rise within each row."""
    rises = _core.ones(len(col) + 1, dtype=_core.bool, device=col.device)
    rises[1:-1] = col.diff() > 0 if len(col) else True
    rises[crow] = True
    return bool(rises.all())


def rebuilt(layout, parts, sizes, in_order, requires_grad):
    """A sparse tensor of its parts in a file or a pickle, which are not trusted."""
    if layout in ("sparse_csr", "sparse_csc"):
        return (sparse_csr_tensor if layout == "sparse_csr" else sparse_csc_tensor)(*parts, sizes, requires_grad=bool(requires_grad))
    return sparse_coo_tensor(*parts, sizes, is_coalesced=bool(in_order), requires_grad=bool(requires_grad))
