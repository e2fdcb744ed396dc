"""Compiled functions that give tensors to others: to attributes and caches."""

import warnings

import pytest

import opforge as torch
from opforge import nn
from opforge.nn import functional as F

pytestmark = pytest.mark.usefixtures("no_warnings")


class Cached(nn.Module):
    """Computes a table when it is first called, as models with tables of positions do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.table, self.computed = None, 0

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(2.0).exp()
            self.computed += 1
        return x * self.table * self.weight


def test_a_cache_that_is_filled_by_the_first_call_is_there_for_others():
    model, x = Cached(), torch.tensor([3.0, 4.0])
    compiled = torch.compile(model, fullgraph=True)
    want = (x * torch.arange(2.0).exp() * model.weight).tolist()
    for _ in range(3):
        y = compiled(x)
        assert y.tolist() == want
        y.sum().backward()
    assert model.table.tolist() == torch.arange(2.0).exp().tolist()
    assert model.weight.grad.tolist() == (3 * x * model.table).tolist() and model(x).tolist() == want
    assert compiled(x).tolist() == want and len(compiled._compiled._programs) <= 2


class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        self.hidden = self.layer(x).relu()
        self.given = x
        return self.hidden.sum()


@pytest.mark.parametrize("with_gradients", [True, False])
def test_what_is_kept_is_that_of_the_last_call(with_gradients):
    model = Remembering().requires_grad_(with_gradients)
    compiled = torch.compile(model)
    for i in range(5):
        x = torch.full((3, 3), i + 1.0)[1:, 1:]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = compiled(x)
        assert [str(w.message).partition(": ")[2] for w in told] == (
            ["it keeps tensors that it computes"] if i == 1 else []
        )
        assert torch.equal(model.hidden, F.relu(model.layer(x))) and torch.equal(model.given, x) and torch.equal(y, model.hidden.sum())
        if with_gradients:
            model.zero_grad()
            model.hidden.square().sum().backward()
            got = model.layer.weight.grad.clone()
            model.zero_grad()
            F.relu(model.layer(x)).square().sum().backward()
            torch.testing.assert_close(model.layer.weight.grad, got)
    with pytest.raises(RuntimeError, match="keeps tensors"):
        for _ in range(3):
            torch.compile(model, fullgraph=True)(torch.ones(2, 2)) if not hasattr(model, "again") else None
            again = model.__dict__.setdefault("again", torch.compile(model, fullgraph=True))
            again(torch.ones(2, 2))


def test_gradients_are_those_of_parameters_whose_data_was_replaced():
    model, x = nn.Linear(3, 2), torch.ones(1, 3)
    compiled = torch.compile(model, fullgraph=True)
    for _ in range(3):
        model.zero_grad()
        compiled(x).sum().backward()
        assert model.weight.grad.tolist() == [[1.0] * 3] * 2
        for parameter in model.parameters():
            parameter.data = parameter.data


def test_arguments_as_other_dtypes_begin_where_they_begin():
    @torch.compile(fullgraph=True)
    def as_bytes(x):
        return x.view(torch.uint8), x.view(torch.int64)

    x = torch.arange(8.0)[2:6]
    for _ in range(2):
        assert [t.tolist() for t in as_bytes(x)] == [x.view(torch.uint8).tolist(), x.view(torch.int64).tolist()]
