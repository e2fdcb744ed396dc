"""numpy's dtypes beside ours, for tests of data in and out of tensors."""

import numpy as np

import opforge as torch

FLOATS = [torch.float16, torch.float32, torch.float64]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64]
UINTS = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]
NUMPY_DTYPES = [torch.bool, *UINTS, *INTS, *FLOATS, *COMPLEX]


def numpy_dtype(dtype):
    return np.dtype(repr(dtype).removeprefix("opforge.").replace("bool", "bool_"))


def same(tensor, array):
    """Whether a tensor equals a numpy array in dtype, shape and elements."""
    return numpy_dtype(tensor.dtype) == array.dtype and tensor.tolist() == array.tolist() and tuple(tensor.shape) == array.shape
