"""Copies of what views show, and writing through strides."""

import pytest

import opforge as torch

X = torch.arange(24.0).reshape(2, 3, 4)

COPIES = {
    "alias_copy": ((), lambda x: x),
    "as_strided_copy": (((2, 2), (1, 3), 2), lambda x: x.as_strided((2, 2), (1, 3), 2)),
    "detach_copy": ((), lambda x: x),
    "diagonal_copy": ((1, 1, 2), lambda x: x.diagonal(1, 1, 2)),
    "expand_copy": (((5, 2, 3, 4),), lambda x: x.expand(5, 2, 3, 4)),
    "permute_copy": (((2, 0, 1),), lambda x: x.permute(2, 0, 1)),
    "select_copy": ((1, 2), lambda x: x[:, 2]),
    "slice_copy": ((2, 1, 4, 2), lambda x: x[:, :, 1:4:2]),
    "squeeze_copy": ((), lambda x: x),
    "transpose_copy": ((0, 2), lambda x: x.transpose(0, 2)),
    "unfold_copy": ((2, 2, 1), lambda x: x.unfold(2, 2, 1)),
    "unsqueeze_copy": ((1,), lambda x: x[:, None]),
    "view_copy": (((6, 4),), lambda x: x.view(6, 4)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_memory_of_their_own(name):
    arguments, view = COPIES[name]
    x = X.clone()
    copy = getattr(torch, name)(x, *arguments)
    assert torch.equal(copy, view(x)) and copy.is_contiguous()
    x.zero_()
    assert copy.abs().sum().item() > 0


def test_copies_of_several_views():
    for found, expected in (
        (torch.split_copy(X, 2, 1), X.split(2, 1)),
        (torch.split_with_sizes_copy(X, [1, 2], 1), X.split([1, 2], 1)),
        (torch.unbind_copy(X, 1), X.unbind(1)),
        (X.unsafe_chunk(2, 1), X.chunk(2, 1)),
        (torch.unsafe_split(X, 2, 1), X.split(2, 1)),
        (X.unsafe_split_with_sizes([1, 2], 1), X.split([1, 2], 1)),
    ):
        assert len(found) == len(expected) and all(map(torch.equal, found, expected))
    assert torch.t_copy(X[0]).tolist() == X[0].T.tolist()
    assert torch.view_as_complex_copy(torch.view_as_real_copy(torch.tensor([1 + 2j]))).tolist() == [1 + 2j]
    leaf = torch.ones(2, 3, requires_grad=True)
    torch.transpose_copy(leaf, 0, 1).sum().backward()
    assert leaf.grad.tolist() == [[1, 1, 1]] * 2
    with pytest.raises(IndexError):
        torch.slice_copy(X, 3)


def test_as_strided_scatter_and_its_gradients():
    source = torch.tensor([[50.0, 60.0], [70.0, 80.0]])
    found = X[0].as_strided_scatter(source, (2, 2), (1, 3), 1)
    expected = X[0].clone()
    expected.view(-1)[torch.tensor([1, 4, 2, 5])] = torch.tensor([50.0, 60.0, 70.0, 80.0])
    assert torch.equal(found, expected)
    x, src = torch.rand(3, 4, dtype=torch.float64, requires_grad=True), torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, s: torch.as_strided_scatter(x, s, (2, 2), (4, 1)), (x, src))
    with pytest.raises(RuntimeError, match="exceed"):
        torch.as_strided_scatter(X[0], source, (2, 2), (10, 3), 1)
