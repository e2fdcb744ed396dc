"""Nested tensors: what they are, and that what is computed with them is what their parts give."""

import copy
import pickle

import pytest

import opforge as torch

F = torch.nn.functional
A, B = torch.linspace(-1, 1, 6).reshape(2, 3), torch.linspace(0, 2, 12).reshape(4, 3)
LAYOUTS = (torch.strided, torch.jagged)


@pytest.fixture(params=LAYOUTS, ids=str)
def x(request):
    return torch.nested.nested_tensor([A, B], layout=request.param)


def check(nested, *parts):
    assert nested.is_nested and len(nested) == len(parts)
    for mine, other in zip(nested.unbind(), parts):
        torch.testing.assert_close(mine, other)


def test_what_a_nested_tensor_is(x):
    assert isinstance(x, torch.Tensor) and x.is_nested and not torch.ones(1).is_nested and not x.is_sparse and not x.is_meta
    assert (x.dim(), x.size(0), x.size(-1), len(x), x.numel(), x.dtype) == (3, 2, 3, 2, 18, torch.float32)
    assert torch.equal(x[0], A) and torch.equal(x[-1], B) and torch.equal(x.select(0, 1), B) and x[1, 2, 0] == B[2, 0]
    for call in (lambda: x.size(1), lambda: x.shape):
        with pytest.raises(RuntimeError, match="dimension 1 is irregular"):
            call()
    assert x.layout in LAYOUTS and tuple(torch.nested.nested_tensor([A, A]).shape) == (2, 2, 3)
    assert repr(torch.nested.nested_tensor([[1, 2], [3]])) == "nested_tensor([\n  tensor([1, 2]),\n  tensor([3])\n])"


def test_memory_is_its_own(x):
    before = x[0].clone()
    source = A.clone()
    y = torch.nested.nested_tensor([source])
    source.zero_()
    assert torch.equal(y[0], A) and torch.equal(x[0], before)


def test_parts_one_after_the_other():
    jagged = torch.nested.nested_tensor([A, B], layout=torch.jagged)
    assert torch.equal(jagged.values(), torch.cat([A, B])) and jagged.offsets().tolist() == [0, 2, 6]
    assert torch.equal(torch.nested.nested_tensor([A, B.t()]).values(), torch.cat([A.reshape(-1), B.t().reshape(-1)]))
    values = torch.arange(5.0)
    check(torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5])), values[:2], values[2:])
    check(torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([1, 4])), values[:1], values[1:])
    check(torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5]), torch.tensor([1, 2])), values[:1], values[2:4])
    check(torch.nested.narrow(torch.arange(10).reshape(2, 5), 1, torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor([0, 1]), torch.tensor([6, 7, 8]))
    mask = torch.tensor([[True, False, True], [True, False, False]])
    check(torch.nested.masked_select(A, mask), A[0, ::2], A[1, :1])


def test_padding(x):
    padded = torch.nested.to_padded_tensor(x, -1.0)
    assert tuple(padded.shape) == (2, 4, 3) and torch.equal(padded[0, :2], A) and torch.equal(padded[1], B) and bool((padded[0, 2:] == -1).all())
    assert tuple(x.to_padded_tensor(0.0, (2, 5, 4)).shape) == (2, 5, 4)
    with pytest.raises(RuntimeError, match="output_size of at least"):
        x.to_padded_tensor(0.0, (2, 3, 3))


WEIGHT, BIAS = torch.linspace(-1, 1, 6).reshape(2, 3), torch.tensor([0.5, -0.5])
# Calls that mean the same for a nested tensor and, with dimensions counted from the end, for each part.
EACH = {
    "exp": lambda x: x.exp(),
    "relu": F.relu,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "double": lambda x: x.double(),
    "to": lambda x: x.to(torch.float64),
    "negative": lambda x: -x,
    "plus": lambda x: x + x * 2 - 1,
    "right": lambda x: 2 / (x + 3),
    "row": lambda x: x * torch.tensor([1.0, 2.0, 3.0]),
    "compared": lambda x: x > 0.5,
    "where": lambda x: torch.where(x > 0.5, x, torch.zeros_like(x)),
    "masked_fill": lambda x: x.masked_fill(x > 0.5, 0.0),
    "linear": lambda x: F.linear(x, WEIGHT, BIAS),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "rms_norm": lambda x: F.rms_norm(x, (3,), torch.ones(3)),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, dim=-2),
    "matmul": lambda x: x @ WEIGHT.t(),
    "square": lambda x: x @ x.transpose(-1, -2),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(dim=-1, keepdim=True),
    "amax": lambda x: x.amax(-1),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "cat": lambda x: torch.cat([x, x], -1),
    "chunk": lambda x: x.chunk(3, -1)[1],
    "cumsum": lambda x: x.cumsum(-1),
    "select": lambda x: x.select(-1, 1),
}


@pytest.mark.parametrize("name", EACH)
def test_each_part_gives_its_own(x, name):
    check(EACH[name](x), EACH[name](A), EACH[name](B))


def test_dimensions_count_the_first(x):
    check(x.softmax(1), A.softmax(0), B.softmax(0))
    check(x.transpose(1, 2), A.t(), B.t())
    check(x.unsqueeze(1), A.unsqueeze(0), B.unsqueeze(0))
    check(x.reshape(2, -1, 3, 1), A.unsqueeze(-1), B.unsqueeze(-1))
    check(x + torch.tensor([[[10.0]], [[20.0]]]), A + 10, B + 20)
    check(x @ torch.stack([WEIGHT.t(), -WEIGHT.t()]), A @ WEIGHT.t(), B @ -WEIGHT.t())
    for call in (lambda: x.softmax(0), lambda: x.transpose(0, 1), lambda: x.sum(0)):
        with pytest.raises(NotImplementedError, match="dimension 0"):
            call()


def test_parameters_are_not_taken_for_entries():
    """Of matrices with as many rows as there are parts."""
    rows = torch.nested.nested_tensor([A[0], B[0]])
    check(F.linear(rows, WEIGHT), WEIGHT @ A[0], WEIGHT @ B[0])
    check(F.embedding(torch.nested.nested_tensor([[1, 0], [1]]), WEIGHT), WEIGHT[[1, 0]], WEIGHT[[1]])


def test_reductions_of_all_elements(x):
    every = torch.cat([A, B]).reshape(-1)
    for name in ("sum", "mean", "max", "amin"):
        torch.testing.assert_close(getattr(x, name)(), getattr(every, name)())


def test_what_is_reduced_over_parts_of_other_sizes_is_dense():
    jagged = torch.nested.nested_tensor([A, B], layout=torch.jagged)
    torch.testing.assert_close(jagged.sum(1), torch.stack([A.sum(0), B.sum(0)]))
    torch.testing.assert_close(jagged.mean(dim=1, keepdim=True), torch.stack([A.mean(0, True), B.mean(0, True)]))


def test_gradients_flow_to_the_parts():
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    x = torch.nested.as_nested_tensor([a, b])
    assert x.requires_grad
    F.softmax(x * 2, -1).to_padded_tensor(0.0).pow(2).sum().backward()
    for part, grad in ((A, a.grad), (B, b.grad)):
        leaf = part.clone().requires_grad_()
        (leaf * 2).softmax(-1).pow(2).sum().backward()
        torch.testing.assert_close(grad, leaf.grad)
    leaf = torch.nested.nested_tensor([A, B], requires_grad=True)
    (leaf * leaf).sum().backward()
    check(leaf.grad, 2 * A, 2 * B)


def test_modules_take_them(x):
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.GELU(), torch.nn.Dropout(0.0))
    check(layer(x), layer(A), layer(B))


def test_copies(x):
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), x.detach()):
        check(other, A, B)
        assert other.layout is x.layout and other.dtype == x.dtype
    with pytest.raises(TypeError, match="NestedTensor"):
        torch.save({"x": x}, "nowhere.safetensors")


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (ValueError, "must have the same dimension", lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)])),
        (TypeError, "one dtype", lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(2).long()])),
        (ValueError, "empty tensor list", lambda: torch.nested.nested_tensor([], layout=torch.jagged)),
        (ValueError, "differ in their first dimension only", lambda: torch.nested.nested_tensor([A, B.t()], layout=torch.jagged)),
        (ValueError, "accepted: strided, jagged", lambda: torch.nested.nested_tensor([A], layout=torch.sparse_coo)),
        (ValueError, "one number of parts", lambda: torch.nested.nested_tensor([A, B]) + torch.nested.nested_tensor([A])),
        (ValueError, "goes with 2 parts", lambda: torch.nested.nested_tensor([A, B]) + torch.ones(3, 1, 1)),
        (ValueError, "goes with 2 parts", lambda: torch.nested.nested_tensor([A, B]) + torch.ones(2, 1, 1, 1)),
        (ValueError, "rising offsets", lambda: torch.nested.nested_tensor_from_jagged(torch.ones(3), torch.tensor([0, 4]))),
        (NotImplementedError, "inv: not there for nested tensors", lambda: torch.linalg.inv(torch.nested.nested_tensor([A]))),
        (NotImplementedError, "add_: not there", lambda: torch.nested.nested_tensor([A]).add_(1)),
        (NotImplementedError, "data_ptr", lambda: torch.nested.nested_tensor([A]).data_ptr()),
        (NotImplementedError, "Parameter", lambda: torch.nn.Parameter(torch.nested.nested_tensor([A]))),
        (NotImplementedError, "number of a part", lambda: torch.nested.nested_tensor([A])[0:1]),
    ],
)
def test_errors(error, text, call):
    with pytest.raises(error, match=text):
        call()
