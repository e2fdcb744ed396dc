"""PyTorch's older names of sparse tensors by dtype: `torch.sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from .. import _core
from .._tensors.typed import _DTYPES, _TensorType
from ._build import sparse_coo_tensor


class _SparseType(_TensorType):
    """The type of these names. Nothing is made by them but sparse tensors."""

    def __instancecheck__(cls, value):
        return isinstance(value, _core.Tensor) and value.is_sparse and value.dtype is cls.dtype

    def __call__(cls, *args):
        if len(args) < 2 or not isinstance(args[1], _core.Tensor):
            sizes = args if all(isinstance(arg, int) for arg in args) else args[0]
            return sparse_coo_tensor(tuple(sizes) or (0,), dtype=cls.dtype)
        if args[1].dtype is not cls.dtype:
            raise TypeError(f"sparse.{cls.__name__}(): expected values of {cls.dtype}, but got {args[1].dtype}")
        return sparse_coo_tensor(*args)

    def __repr__(cls):
        return f"<class 'torch.sparse.{cls.__name__}'>"


TYPES = {
    f"{name}Tensor": _SparseType(f"{name}Tensor", (), {"dtype": dtype, "_device": "cpu", "is_cuda": False, "__doc__": f"Sparse tensors of {dtype}."})
    for name, dtype in _DTYPES.items()
}
