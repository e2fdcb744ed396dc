"""The class of nested tensors: several of one dtype and number of dimensions, of any sizes."""

from __future__ import annotations

from .. import _core
from .._calls.arguments import dim_from_0
from . import _calls


class NestedTensor(_core.Tensor):
    """Tensors `_parts` as the entries of a first dimension. Calls are made for each part (`_calls.py`), so that gradients flow through them.

    As a `Tensor` of the core it is on the device "meta": what does not know it finds no numbers.
    """

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _calls.run(func, args, kwargs or {})

    dtype = property(lambda self: self._parts[0].dtype if self._parts else self._dtype, doc="The dtype of all parts.")
    device = property(lambda self: self._parts[0].device if self._parts else _core.device("cpu"), doc="Where the parts are.")
    layout = property(lambda self: self._layout, doc="`strided` or `jagged`.")
    ndim = property(lambda self: self.dim(), doc="The number of dimensions: one more than the parts have.")
    is_leaf = property(lambda self: all(part.is_leaf for part in self._parts), doc="Whether gradients end at the parts.")
    grad_fn = property(lambda self: next((part.grad_fn for part in self._parts if part.grad_fn is not None), None), doc="What computed a part.")

    @property
    def shape(self):
        """The sizes, where all parts agree on them; else an error."""
        return self.size()

    @property
    def requires_grad(self):
        """Whether a part needs a gradient."""
        return any(part.requires_grad for part in self._parts)

    @property
    def grad(self):
        """The gradients of parts that are leaves."""
        grads = [part.grad for part in self._parts]
        return None if any(grad is None for grad in grads) else nest(grads, self._layout)

    @grad.setter
    def grad(self, value):
        if value is not None:
            raise _core.UnsupportedError("grad: of a nested tensor can only be set to None")
        for part in self._parts:
            part.grad = None

    def requires_grad_(self, requires_grad=True):
        """Has gradients of the parts recorded."""
        for part in self._parts:
            part.requires_grad_(requires_grad)
        return self

    def dim(self):
        """The number of dimensions: one more than the parts have."""
        return 1 + (self._parts[0].dim() if self._parts else 0)

    def size(self, dim=None):
        """The size of a dimension in which all parts are alike; RuntimeError for others."""
        if dim is None:
            return _core.empty([self.size(d) for d in range(self.dim())], device="meta").shape
        place = dim_from_0(dim, self.dim())
        sizes = {part.shape[place - 1] for part in self._parts} if place else {len(self._parts)}
        if len(sizes) != 1:
            raise _core.ShapeError(f"Given dimension {place} is irregular and does not have a size.")
        return sizes.pop()

    def numel(self):
        """The number of elements of all parts."""
        return sum(part.numel() for part in self._parts)

    nelement = numel

    def unbind(self, dim=0):
        """The parts."""
        if dim != 0:
            raise _core.ArgumentError(f"unbind: a nested tensor's dimension 0 expected, got {dim}")
        return tuple(self._parts)

    def values(self):
        """The elements of all parts: one after the other along their first dimension with the layout `jagged`, else in one row."""
        from .._tensors.layouts import jagged

        if self._layout is jagged:
            return _core.cat(self._parts)
        return _core.cat([part.reshape(-1) for part in self._parts])

    def offsets(self):
        """Where each part of the layout `jagged` begins in `values()`, and the end."""
        from .._tensors.layouts import jagged

        if self._layout is not jagged:
            raise AttributeError("offsets: only nested tensors with the layout jagged have them")
        return _core.tensor([0, *(len(part) for part in self._parts)], device=self.device).cumsum(0)

    def to_padded_tensor(self, padding, output_size=None):
        """The parts as a dense tensor, each filled up with `padding` to the largest sizes, or to those of `output_size`."""
        from . import to_padded_tensor

        return to_padded_tensor(self, padding, output_size)

    def is_contiguous(self, memory_format=None):
        """Whether each part is contiguous."""
        return all(part.is_contiguous() for part in self._parts)

    def is_floating_point(self):
        """Whether elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def as_subclass(self, cls):
        """An error: what the tensor holds would be lost."""
        raise _core.UnsupportedError("as_subclass: not there for nested tensors")

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(self._parts)

    def __getitem__(self, index):
        if isinstance(index, int):
            return self._parts[dim_from_0(index, len(self._parts))]
        if isinstance(index, tuple) and index and isinstance(index[0], int):
            return self[index[0]][index[1:]]
        raise _core.UnsupportedError(f"indexing of a nested tensor: the number of a part first expected, got {index!r}")

    def __repr__(self, *, tensor_contents=None):
        parts = [repr(part).replace("\n", "\n  ") for part in self._parts]
        return "nested_tensor([" + ",".join(f"\n  {part}" for part in parts) + "\n])"

    def __format__(self, spec):
        return format(repr(self), spec)

    def __deepcopy__(self, memo):
        import copy

        if id(self) not in memo:
            memo[id(self)] = nest([copy.deepcopy(part, memo) for part in self._parts], self._layout, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return nest, ([part.detach() for part in self._parts], self._layout, self.dtype)


for _name in "is_sparse is_sparse_csr is_quantized is_mkldnn is_mps is_xpu is_cuda is_meta".split():
    setattr(NestedTensor, _name, property(lambda self: False, doc="False."))
NestedTensor.is_nested = property(lambda self: True, doc="True.")


def nest(parts, layout, dtype=None):
    """A nested tensor of parts of one dtype and number of dimensions."""
    tensor = _core.empty((len(parts),), dtype=dtype, device="meta").as_subclass(NestedTensor)
    tensor._parts, tensor._layout, tensor._dtype = tuple(parts), layout, dtype or _core.get_default_dtype()
    return tensor
