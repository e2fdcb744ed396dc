"""What does not change with its inputs is a function of them all the same, as in PyTorch: it requires grad, and their gradients are zeros."""

import pytest

import opforge as torch
import opforge.nn.functional as F
from test_registry import CASES, call, each, floats, leaves, tensors

NAN = float("nan")

# Sample calls.

# Floats that have no gradient in PyTorch 2.15 either, by the reason.
CONSTANT = set(
    # New tensors that are only like the input.
    "zeros_like ones_like full_like empty_like rand_like randn_like randint_like randint_like_below new_zeros new_ones new_full new_empty".split()
    # Permutations.
    + ["lu", "lu_unpack"]
    # Results that are left out, and come as tensors without elements.
    + ["lstsq", "qr"]
    # No derivative is known to PyTorch, or it has a node whose backward fails.
    + ["airy_ai", "geqrf", "histc", "histogram", "histogram_between"]
)
# Inputs of floats of which only the shape, or whether elements are equal, or nothing is read.
UNREAD = set(
    """reshape_as view_as expand_as hinge_embedding_loss cosine_embedding_loss fractional_max_pool2d fractional_max_pool3d""".split()
) | CONSTANT
# Derivatives that are not there: backward says so, as in PyTorch.
REFUSED = {"igamma", "igammac", "gammainc", "gammaincc", "zeta", "qr", "qr_some"}


def is_in_place(case):
    return case.function.__name__.endswith("_") or "in_place" in case.entry["faces"] and len(case.entry["faces"]) == 1


DIFFERENTIABLE = [case for case in CASES if not is_in_place(case) and floats(tensors(case.args))]


def outputs(case):
    """The outputs that have floats, and the inputs."""
    args = tensors(case.args)
    inputs = [t.requires_grad_() for t in floats(args)]
    results = [leaf for leaf in leaves(call(case, args)) if isinstance(leaf, torch.Tensor)]
    return [leaf for leaf in results if leaf.is_floating_point() or leaf.is_complex()], inputs


@each([case for case in DIFFERENTIABLE if case.name not in CONSTANT])
def test_floats_of_what_requires_grad_require_grad(case):
    assert all(leaf.requires_grad for leaf in outputs(case)[0])


@each([case for case in DIFFERENTIABLE if case.name not in UNREAD | REFUSED])
def test_every_input_gets_a_gradient(case):
    results, inputs = outputs(case)
    if results:
        sum((leaf.abs() if leaf.is_complex() else leaf).sum() for leaf in results).backward()
        assert all(i.grad is not None and i.grad.shape == i.shape for i in inputs)


# Named cases.

A = torch.tensor([[2.0, 0.5], [0.5, 1.0]])


def zero(name, call, *inputs):
    """A row: a call, and inputs whose gradients are zeros."""
    return pytest.param(call, inputs, id=name)


ROWS = [
    zero("norm of 0", lambda x: x.norm(p=0), A),
    zero("norm of 0 along a dimension", lambda x: torch.norm(x, 0, dim=1), A),
    zero("linalg.vector_norm of 0", lambda x: torch.linalg.vector_norm(x, 0), A),
    zero("vector_norm of 0 of one number", lambda x: torch.linalg.vector_norm(x, 0), torch.tensor(3.0)),
    zero("dist of 0", lambda x, y: torch.dist(x, y, 0), A, A + 1),
    zero("cdist of 0", lambda x, y: torch.cdist(x, y, 0.0), A, A + 1),
    zero("pdist of 0", lambda x: F.pdist(x, 0.0), A),
    zero("pairwise_distance of 0", lambda x, y: F.pairwise_distance(x, y, 0.0), A, A + 1),
    zero("matrix_power 0", lambda x: torch.matrix_power(x, 0), A),
    zero("linalg.matrix_power 0 of no elements", lambda x: torch.linalg.matrix_power(x, 0), torch.zeros(0, 0)),
    zero("floor", torch.floor, A),
    zero("ceil", torch.ceil, A),
    zero("round", torch.round, A),
    zero("round to decimals", lambda x: torch.round(x, decimals=1), A),
    zero("trunc", torch.trunc, A),
    zero("sign", torch.sign, A),
    zero("floor_divide", lambda x: x // 2, A),
    zero("product with 0", lambda x: x * 0, A),
    zero("power of 0", lambda x: x**0, A),
    zero("clamp to elsewhere", lambda x: x.clamp(5, 6), A),
    zero("masked_fill everywhere", lambda x: x.masked_fill(x > 0, 3.0), A),
    zero("index_fill everywhere", lambda x: x.index_fill(0, torch.tensor([0, 1]), 3.0), A),
    zero("where nowhere", lambda x: torch.where(x < 0, x, 1.0), A),
    zero("dropout of all", lambda x: F.dropout(x, 1.0), A),
    zero("threshold above all", lambda x: F.threshold(x, 9.0, 1.0), A),
    zero("hardshrink of all", lambda x: F.hardshrink(x, 9.0), A),
    zero("triu beyond", lambda x: x.triu(5), A),
    zero("bernoulli", lambda x: torch.bernoulli(x / 4), A),
    zero("bernoulli of p", lambda x: torch.bernoulli(x, 0.5), A),
    zero("poisson", torch.poisson, A),
    zero("grid_sample by nearest", lambda g: F.grid_sample(torch.ones(1, 1, 2, 2), g, mode="nearest"), torch.zeros(1, 2, 2, 2)),
    zero("grid_sample by nearest in 3 dimensions", lambda g: F.grid_sample(torch.ones(1, 1, 2, 2, 2), g, "nearest"), torch.zeros(1, 1, 1, 2, 3)),
    zero("nll_loss of nothing", lambda x: F.nll_loss(x, torch.tensor([-100, -100]), reduction="sum"), A),
    zero("gather of nothing", lambda x: x.gather(0, torch.empty(0, 2, dtype=torch.int64)), A),
    zero("addmm with beta 0", lambda x: torch.addmm(x, A, A, beta=0), NAN * A),
    zero("addmv with beta 0", lambda x: torch.addmv(x, A, A[0], beta=0), NAN * A[0]),
    zero("addr with beta 0", lambda x: torch.addr(x, A[0], A[0], beta=0), NAN * A),
    zero("addbmm with beta 0", lambda x: torch.addbmm(x, A[None], A[None], beta=0), NAN * A),
    zero("baddbmm with beta 0", lambda x: torch.baddbmm(x, A[None], A[None], beta=0), NAN * A[None]),
    zero("addmm with alpha 0", lambda a, b: torch.addmm(A, a, b, alpha=0), A, A),
]


@pytest.mark.parametrize("call, inputs", ROWS)
def test_gradient_of_what_is_constant_is_zero(call, inputs):
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    result = call(*inputs)
    assert result.requires_grad and not call(*(x.detach() for x in inputs)).requires_grad
    with torch.no_grad():
        assert not call(*inputs).requires_grad
    result.sum().backward()
    for x in inputs:
        assert x.grad is not None and torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize("name", ["addmm", "addbmm", "baddbmm"])
def test_beta_of_zero_leaves_nan_out_and_the_product_its_gradient(name):
    lead = (1,) if name != "addmm" else ()
    x = torch.full((1, 2, 2) if name == "baddbmm" else (2, 2), NAN, requires_grad=True)
    a, b = (torch.ones(*lead, 2, 2, requires_grad=True) for _ in range(2))
    y = getattr(torch, name)(x, a, b, beta=0)
    y.sum().backward()
    assert y.unique().tolist() == [2.0]
    assert [t.grad.unique().tolist() for t in (x, a, b)] == [[0.0], [2.0], [2.0]]


@pytest.mark.parametrize("name, mats", [("addmm", (A, A)), ("addmv", (A, A[0])), ("addbmm", (A[None], A[None]))])
def test_alpha_of_zero_leaves_nan_in_the_product_out(name, mats):
    x = A[0] if name == "addmv" else A
    assert torch.equal(getattr(torch, name)(x, NAN * mats[0], mats[1], alpha=0), x)


def test_value_that_fills_slices_named_twice_counts_once():
    x, value = torch.ones(2, 3, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    y = x.index_fill(1, torch.tensor([0, 2, 0]), value)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist(), value.grad.item()) == ([[5.0, 1.0, 5.0]] * 2, [[0.0, 1.0, 0.0]] * 2, 4.0)


def test_quantile_has_a_gradient_by_its_number():
    x, q = torch.tensor([1.0, 3.0, 7.0]), torch.tensor([0.25, 0.75], requires_grad=True)
    torch.quantile(x, q).sum().backward()
    assert q.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize(
    "matrix, wanted",
    [
        ([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]),
        ([[2.0, 0.5], [0.5, 1.0]], [[0.30405, 0.35541], [0.35541, 0.43495]]),
    ],
)
def test_gradient_of_a_root_is_symmetric_and_knows_equal_eigenvalues(matrix, wanted):
    x = torch.tensor(matrix, requires_grad=True)
    torch.linalg.matrix_sqrth(x).sum().backward()
    assert torch.allclose(x.grad, torch.tensor(wanted), atol=1e-5)


def test_second_derivative_of_a_root():
    x = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    y = torch.linalg.matrix_sqrth(x) * torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    g.square().sum().backward()
    symmetric = (x.grad + x.grad.mT) / 2
    wanted = torch.tensor([[-0.23925, -0.82489], [-0.82489, -3.7092]], dtype=torch.float64)
    assert torch.allclose(symmetric, wanted, atol=1e-4), symmetric
