"""Functions of the package that no declared function is behind: in-place functions, files, hashes, approximate factors."""

import numpy as np
import pytest

import opforge as torch


def test_in_place_functions_are_the_methods():
    x = torch.tensor([-4.0, 9.0])
    assert torch.abs_(x) is x and torch.sqrt_(x).tolist() == [2.0, 3.0]
    assert torch.clamp_(x, max=2.5).tolist() == [2.0, 2.5] and torch.zero_(x).tolist() == [0.0, 0.0]


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    x = torch.from_file(str(path), size=3)
    x += 1
    assert x.tolist() == [1.0, 2.0, 3.0] and np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0]
    shared = torch.from_file(str(tmp_path / "new"), shared=True, size=2, dtype=torch.int16)
    shared.copy_(torch.tensor([5, 6]))
    assert np.fromfile(tmp_path / "new", np.int16).tolist() == [5, 6]
    with pytest.raises(ValueError):
        torch.from_file(str(path), size=5)


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


def test_lu_is_the_compact_one():
    a = torch.randn(2, 3, 3)
    both, pivots, infos = torch.lu(a, get_infos=True)
    lower, upper = both.tril(-1) + torch.eye(3), both.triu()
    order = torch.lu_unpack(both, pivots)[0]
    np.testing.assert_allclose((order @ lower @ upper).numpy(), a.numpy(), atol=1e-5)
    assert infos.tolist() == [0, 0] and len(torch.lu(a)) == 2


def test_low_ranks_are_found():
    torch.manual_seed(0)
    a = torch.randn(2, 20, 3, dtype=torch.float64) @ torch.randn(2, 3, 8, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=4)
    assert (u.shape, s.shape, v.shape) == ((2, 20, 4), (2, 4), (2, 8, 4))
    np.testing.assert_allclose((u * s[:, None] @ v.mT).numpy(), a.numpy(), atol=1e-10)
    mean = a.mean(-2, keepdim=True)
    u, s, v = torch.pca_lowrank(a, q=3)
    np.testing.assert_allclose((u * s[:, None] @ v.mT).numpy(), (a - mean).numpy(), atol=1e-10)
    np.testing.assert_allclose(torch.svd_lowrank(a, q=3, M=mean)[1].numpy(), s.numpy(), atol=1e-10)
    with pytest.raises(ValueError):
        torch.svd_lowrank(a, q=9)


def test_lobpcg_gives_the_greatest_or_the_least():
    torch.manual_seed(0)
    a, b = (torch.randn(2, 12, 12, dtype=torch.float64) for _ in range(2))
    a, b = a + a.mT, b @ b.mT + torch.eye(12)
    all_values = np.linalg.eigvalsh(a.numpy())
    values, vectors = torch.lobpcg(a, k=3)
    np.testing.assert_allclose(values.numpy(), all_values[:, :-4:-1])
    np.testing.assert_allclose((a @ vectors).numpy(), (vectors * values[:, None]).numpy(), atol=1e-10)
    np.testing.assert_allclose(torch.lobpcg(a, X=vectors, largest=False)[0].numpy(), all_values[:, :3])
    values, vectors = torch.lobpcg(a, k=2, B=b)
    np.testing.assert_allclose((a @ vectors).numpy(), (b @ vectors * values[:, None]).numpy(), atol=1e-9)
    np.testing.assert_allclose((vectors.mT @ b @ vectors).numpy(), np.broadcast_to(np.eye(2), (2, 2, 2)), atol=1e-10)
    assert torch.lobpcg(a[0])[1].shape == (12, 1)
    with pytest.raises(ValueError, match="k=13"):
        torch.lobpcg(a, k=13)


def test_even_parts_are_demanded():
    x = torch.arange(24).reshape(4, 3, 2)
    assert [len(f(x, n)) for f, n in ((torch.vsplit, 2), (torch.hsplit, 3), (torch.dsplit, 2))] == [2, 3, 2]
    for f, n in ((torch.vsplit, 3), (torch.hsplit, 2), (torch.dsplit, 0)):
        with pytest.raises(torch.OpforgeError):
            f(x, n)
    with pytest.raises(torch.OpforgeError):
        torch.vsplit(x[0, 0], 1)


def test_addcmul_promotes_all_three():
    small, wide = torch.full((2,), 1 + 2**-23), torch.zeros(2, dtype=torch.float64)
    got = torch.addcmul(wide, small, small)
    assert got.dtype is torch.float64 and got[0].item() == (1 + 2**-23) ** 2
    assert torch.addcdiv(wide, small, torch.full((2,), 3.0))[0].item() == (1 + 2**-23) / 3


def test_gradients_of_named_rows_are_shared():
    ids = torch.tensor([0, 2, 2, 2])
    for padding in (None, 0):
        weight = torch.ones(3, 2, requires_grad=True)
        torch.nn.functional.embedding(ids, weight, padding, scale_grad_by_freq=True).sum().backward()
        np.testing.assert_allclose(weight.grad.numpy()[:, 0], [padding is None, 0, 1], rtol=1e-6)
    weight = torch.ones(3, 2, requires_grad=True)
    torch.nn.functional.embedding_bag(ids, weight, torch.tensor([0, 2]), mode="sum", scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy()[:, 0], [1, 0, 1], rtol=1e-6)


def test_segments_under_their_older_name():
    x, lengths = torch.tensor([1.0, 5.0, 2.0]), torch.tensor([2, 1])
    for older, name in (("amax", "max"), ("amin", "min"), ("sum", "sum")):
        assert torch.equal(torch._segment_reduce(x, older, lengths=lengths, unsafe=True), torch.segment_reduce(x, name, lengths=lengths))
