"""A typed program of a user's: it is checked by `mypy --strict`, never run."""

from typing import assert_type

import opforge as torch
from opforge import Tensor


def network(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    hidden = torch.relu(x @ weight)
    if bias is not None:
        hidden = hidden + bias
    hidden += 1
    return (2 * hidden - 0.5).softmax(-1)


def train(x: Tensor, weight: Tensor) -> float:
    loss = network(x, weight).mean()
    loss.backward()
    assert_type(weight.grad, Tensor | None)
    if weight.grad is not None:
        weight.sub_(weight.grad, alpha=0.1).clamp_(-1, 1)
    return float(loss)


def shapes(x: Tensor) -> None:
    assert_type(x.shape.numel(), int)
    assert_type(x.size(0), int)
    assert_type(x.reshape(2, 3), Tensor)
    assert_type(x.reshape((2, -1)), Tensor)
    assert_type(x.permute(1, 0).sum((0, 1), keepdim=True), Tensor)
    assert_type(x[0, :, None], Tensor)
    assert_type(torch.sort(x, descending=True)[0], Tensor)


def kinds(x: Tensor) -> None:
    assert_type(x.dtype, torch.dtype)
    assert_type(x.device, torch.device)
    assert_type(torch.equal(x, x), bool)
    assert_type(x.float(), Tensor)
    assert_type(x == 1, Tensor)
    assert_type(torch.sum(x, dtype=torch.float64), Tensor)
    torch.add(x, 1, alpha=2, out=x)
    torch.where(x > 0, x, 0)


def errors(x: Tensor) -> Tensor:
    try:
        return x.reshape(-1, 7)
    except torch.ShapeError as error:
        raise ValueError("seven columns are wanted") from error
