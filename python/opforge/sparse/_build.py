"""Sparse tensors of indices and values."""

from __future__ import annotations

from numbers import Integral

from .. import _core
from ._coo import coo
from ._csr import csr


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
        return empty(sizes, len(sizes), dtype or _core.get_default_dtype()).requires_grad_(requires_grad)
    places, elements = _indices_of(name, "indices", indices).to(_core.int64), _values_of(values, dtype, device)
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
    name = "sparse_csr_tensor"
    crow, col = _indices_of(name, "crow_indices", crow_indices), _indices_of(name, "col_indices", col_indices)
    elements = _values_of(values, dtype, device)
    if crow.dim() != 1 or col.dim() != 1 or elements.dim() != 1 or not len(crow):
        shapes = ", ".join(str(tuple(each.shape)) for each in (crow, col, elements))
        raise _core.ArgumentError(f"{name}: crow_indices, col_indices and values of one dimension expected, got {shapes}")
    if len(col) != len(elements):
        raise _core.ArgumentError(f"{name}: as many values as columns expected, got {len(elements)} and {len(col)}")
    if int(crow[0]) != 0 or int(crow[-1]) != len(col) or bool((crow.diff() < 0).any()):
        raise _core.ArgumentError(f"{name}: crow_indices that rise from 0 to the number of values, {len(col)}, expected, got {crow.tolist()[:8]}")
    crow, col = crow.to(_core.int64), col.to(_core.int64)
    width = int(col.max()) + 1 if len(col) else 0
    sizes = [len(crow) - 1, width] if size is None else list(_ints(name, size))
    if len(sizes) != 2 or sizes[0] != len(crow) - 1:
        raise _core.ArgumentError(f"{name}: a size of {len(crow) - 1} rows and some columns expected, got {tuple(sizes)}")
    if len(col) and (int(col.min()) < 0 or width > sizes[1]):
        raise _core.IndexError(f"{name}: columns from 0 to {sizes[1] - 1} expected, got {int(col.min())} to {width - 1}")
    tensor = csr(crow, col, elements, sizes, _in_order(crow, col))
    return tensor.requires_grad_() if requires_grad else tensor


def _in_order(crow, col):
    """Whether the columns rise within each row."""
    rises = _core.ones(len(col) + 1, dtype=_core.bool)
    rises[1:-1] = col.diff() > 0 if len(col) else True
    rises[crow] = True
    return bool(rises.all())


def rebuilt(layout, parts, sizes, in_order, requires_grad):
    """A sparse tensor of its parts in a file or a pickle, which are not trusted."""
    if layout == "sparse_csr":
        return sparse_csr_tensor(*parts, sizes, requires_grad=bool(requires_grad))
    return sparse_coo_tensor(*parts, sizes, is_coalesced=bool(in_order), requires_grad=bool(requires_grad))
