"""The bits of elements, combined by exclusive or."""

import numpy as np
import pytest

import opforge as torch


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_hash_tensor(dtype):
    x = np.random.default_rng(0).normal(size=(3, 5, 2)).astype(dtype)
    bits = x.astype(np.float64 if x.dtype.kind == "f" else np.int64).view(np.uint64)
    t = torch.tensor(x)
    assert torch.hash_tensor(t).item() == np.bitwise_xor.reduce(bits.ravel())
    np.testing.assert_array_equal(torch.hash_tensor(t, 1).numpy(), np.bitwise_xor.reduce(bits, 1))
    np.testing.assert_array_equal(torch.hash_tensor(t, (0, -1), keepdim=True).numpy(), np.bitwise_xor.reduce(bits, (0, 2), keepdims=True))
    assert torch.hash_tensor(t[:0]).item() == 0
    one = t[0, 0, 0]
    assert torch.hash_tensor(one).item() == torch.hash_tensor(one, 0).item() == torch.hash_tensor(one, (), keepdim=True).item() == bits[0, 0, 0]
    with pytest.raises(IndexError, match="hash_tensor: dim=3, expected -3 to 2"):
        torch.hash_tensor(t, 3)
