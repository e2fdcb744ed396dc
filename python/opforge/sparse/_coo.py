"""Tensors with the layout `sparse_coo`: places, and the values at them."""

from __future__ import annotations

from .. import _core
from .._tensors.size import Size
from . import _calls


class SparseTensor(_core.Tensor):
    """A tensor of which only some elements are there, and the others are 0.

    `_places` is int64 of shape `(sparse_dim, nnz)`, `_elements` of shape `(nnz, *dense sizes)`; what has one place several times (it is not coalesced)
    is their sum. Gradients flow through the elements. As a `Tensor` of the core it is on the device "meta": what does not know it finds no numbers.
    """

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _calls.run(func, args, kwargs or {})

    # What it is.
    shape = property(lambda self: Size(self._sizes), doc="The sizes.")
    dtype = property(lambda self: self._elements.dtype, doc="The values' dtype.")
    device = property(lambda self: self._elements.device, doc="Where the values are.")
    ndim = property(lambda self: len(self._sizes), doc="The number of dimensions.")
    itemsize = property(lambda self: self._elements.itemsize, doc="The bytes of a value.")
    grad_fn = property(lambda self: self._elements.grad_fn, doc="What computed the values.")
    is_leaf = property(lambda self: self._elements.is_leaf, doc="Whether gradients end at the values.")
    T = mT = property(lambda self: self.t(), doc="The transpose.")
    data = property(lambda self: self.detach(), doc="The tensor without its history.")

    @property
    def layout(self):
        """`sparse_coo`."""
        from .._tensors.layouts import sparse_coo

        return sparse_coo

    @property
    def requires_grad(self):
        """Whether the values need a gradient."""
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self._elements.requires_grad = value

    @property
    def grad(self):
        """The gradient of a leaf, at the same places."""
        grad = self._elements.grad
        return None if grad is None else coo(self._places, grad, self._sizes, self._coalesced)

    @grad.setter
    def grad(self, value):
        if value is not None:
            raise _core.UnsupportedError("grad: of a sparse tensor can only be set to None")
        self._elements.grad = None

    def requires_grad_(self, requires_grad=True):
        """Has gradients of the values recorded."""
        self._elements.requires_grad_(requires_grad)
        return self

    def dim(self):
        """The number of dimensions."""
        return len(self._sizes)

    ndimension = dim

    def size(self, dim=None):
        """The sizes, or that of one dimension."""
        return self.shape if dim is None else self._sizes[dim]

    def numel(self):
        """The number of elements, those that are 0 too."""
        return Size(self._sizes).numel()

    nelement = numel

    def element_size(self):
        """The bytes of a value."""
        return self.itemsize

    def is_floating_point(self):
        """Whether values are floating-point numbers."""
        return self._elements.is_floating_point()

    def is_complex(self):
        """Whether values are complex numbers."""
        return self._elements.is_complex()

    def is_contiguous(self, memory_format=None):
        """False: elements do not lie one after the other."""
        return False

    def stride(self, dim=None):
        """0: elements do not lie at regular distances."""
        return 0 if dim is not None else (0,) * len(self._sizes)

    def get_device(self):
        """-1, the CPU."""
        return -1

    # What it holds.
    def sparse_dim(self):
        """The number of dimensions that indices name."""
        return self._places.shape[0]

    def dense_dim(self):
        """The number of dimensions that each value has."""
        return self.dim() - self.sparse_dim()

    _dimI, _dimV = sparse_dim, dense_dim

    def is_coalesced(self):
        """Whether indices are known to be in order and each there once."""
        return self._coalesced

    def _coalesced_(self, coalesced):
        self._coalesced = bool(coalesced)
        return self

    def _nnz(self):
        """The number of values."""
        return self._places.shape[1]

    def _indices(self):
        """The indices as they are, `(sparse_dim, nnz)`."""
        return self._places

    def _values(self):
        """The values as they are, without their history."""
        return self._elements.detach()

    def indices(self):
        """The indices of a coalesced tensor, `(sparse_dim, nnz)`."""
        self._check_coalesced("indices")
        return self._places

    def values(self):
        """The values of a coalesced tensor, with their history."""
        self._check_coalesced("values")
        return self._elements

    def _check_coalesced(self, name):
        if not self._coalesced:
            raise _core.ArgumentError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")

    def coalesce(self):
        """The same with indices in order and each once: values at one place are added (of bool: any)."""
        if self._coalesced:
            return self
        if self._nnz() < 2:
            return coo(self._places, self._elements, self._sizes, True)
        keys, group = flat(self).unique(return_inverse=True)
        return coo(unflat(keys, self._sizes[: self.sparse_dim()]), summed(self._elements, group, len(keys)), self._sizes, True)

    def to_dense(self, dtype=None, *, masked_grad=None):
        """All elements as a strided tensor."""
        if dtype is not None:
            return self.to(dtype).to_dense()
        count = Size(self._sizes[: self.sparse_dim()]).numel()
        return summed(self._elements, flat(self), count).reshape(self._sizes)

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The tensor itself, or a matrix with the layout `sparse_csr`."""
        if isinstance(sparse_dim, int) and sparse_dim != self.sparse_dim():
            raise _core.ArgumentError(f"to_sparse: a tensor of {self.sparse_dim()} sparse dimensions cannot have {sparse_dim}; to_dense() first")
        from ._dense import in_layout

        return in_layout(self, sparse_dim if layout is None else layout)

    def to_sparse_coo(self):
        """The tensor itself."""
        return self

    def to_sparse_csr(self, dense_dim=None):
        """A matrix with the layout `sparse_csr`."""
        from ._csr import from_coo

        return from_coo(self)

    def to_sparse_csc(self, dense_dim=None):
        """A matrix with the layout `sparse_csc`."""
        from ._csr import SparseCscTensor, from_coo

        return from_coo(self, SparseCscTensor)

    def sparse_mask(self, mask):
        """The elements at the places of a coalesced `mask`."""
        return self.to_dense().sparse_mask(mask)

    def _parts(self):
        """What a file is to hold: tensors, the sizes, and whether they are in order."""
        return (self._places, self._elements.detach()), self._sizes, self._coalesced

    def _become(self, other):
        """Takes the places and values of another; the shape and dtype may be others."""
        self._places, self._elements = other._places, other._elements
        self._sizes, self._coalesced = other._sizes, other._coalesced
        return self

    def as_subclass(self, cls):
        """An error: what the tensor holds would be lost."""
        raise _core.UnsupportedError(f"as_subclass: not there for tensors with the layout {self.layout}")

    def __len__(self):
        if not self._sizes:
            raise TypeError("len() of a 0-d tensor")
        return self._sizes[0]

    def __iter__(self):
        return iter(self.unbind())

    def __repr__(self, *, tensor_contents=None):
        from ._text import coo_text

        return coo_text(self)

    def __format__(self, spec):
        return format(repr(self), spec)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            if not self.is_leaf:
                raise _core.ArgumentError("deepcopy: only tensors that are leaves of the graph can be copied deeply")
            copy = coo(self._places.clone(), self._elements.detach().clone(), self._sizes, self._coalesced)
            memo[id(self)] = copy.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        from ._build import rebuilt

        return rebuilt, (self.layout._name, *self._parts(), self.requires_grad)


for _name in "is_sparse_csr is_quantized is_mkldnn is_nested is_mps is_xpu is_cuda is_meta _is_zerotensor".split():
    setattr(SparseTensor, _name, property(lambda self: False, doc="False."))
SparseTensor.is_sparse = property(lambda self: True, doc="True.")


def coo(places, elements, sizes, is_coalesced=False):
    """A sparse tensor of places and elements that fit."""
    sizes = tuple(map(int, sizes))
    tensor = _core.empty(sizes, dtype=elements.dtype, device="meta").as_subclass(SparseTensor)
    tensor._places, tensor._elements, tensor._sizes, tensor._coalesced = places, elements, sizes, is_coalesced
    return tensor


def like(tensor, elements):
    """A sparse tensor with other values at the same places."""
    return coo(tensor._places, elements, tensor._sizes, tensor._coalesced)


def flat(tensor):
    """The places as single numbers, in row-major order."""
    return flat_places(tensor._places, tensor._sizes)


def flat_places(places, sizes):
    """Places `(d, n)` of a tensor whose first `d` sizes are given, as `n` single numbers in row-major order."""
    keys = _core.zeros(places.shape[1], dtype=_core.int64, device=places.device)
    if Size(sizes[: len(places)]).numel() >= 2**63:
        raise _core.ArgumentError(f"sparse tensor: sizes {tuple(sizes)} of more than 2**63 - 1 places (accepted: fewer)")
    for row, size in zip(places.unbind(), sizes):
        keys = keys * size + row
    return keys


def unflat(keys, sizes):
    """The places `(d, n)` of single numbers."""
    rows = []
    for size in reversed(sizes):
        rows.insert(0, keys % size)
        keys = keys // size
    return _core.stack(rows) if rows else _core.zeros((0, len(keys)), dtype=_core.int64, device=keys.device)


def summed(elements, group, count):
    """`(count, ..)` sums of elements `(n, ..)` by group; of bool: whether any is true."""
    if elements.dtype == _core.bool:
        return summed(elements.to(_core.uint8), group, count) > 0
    return _core.zeros((count, *elements.shape[1:]), dtype=elements.dtype, device=elements.device).index_add(0, group, elements)
