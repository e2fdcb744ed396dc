"""Calls in forms beside the documented ones that programs for PyTorch use."""

import warnings

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F

X = torch.arange(5)
ONE, TWO = torch.ones(2), torch.full((2,), 2.0)
M = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def lists(parts):
    return [part.tolist() for part in parts]


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.split(split_size=2),
        lambda: X.split(split_size=[2, 2, 1], dim=0),
        lambda: torch.split(X, split_size_or_sections=2),
        lambda: torch.split(tensor=X, split_size_or_sections=2, dim=0),
        lambda: X.split_with_sizes(split_sizes=[2, 2, 1]),
        lambda: X.tensor_split(indices=(2, 4)),
        lambda: torch.tensor_split(X, sections=3),
    ],
)
def test_split_by_keyword(call):
    assert lists(call()) == [[0, 1], [2, 3], [4]]


def test_hsplit_by_keyword():
    assert lists(X[:4].hsplit(sections=2)) == lists(X[:4].hsplit(indices=(2,))) == [[0, 1], [2, 3]]


def test_split_refuses_other_keywords():
    with pytest.raises(TypeError):
        X.split(size=2)
    with pytest.raises(TypeError):
        torch.split(X, 2, tensor=X)


# Numbers ahead of tensors

PRODUCT = (2 * M + 3 * (M @ M)).tolist()
DEPRECATED = [
    (lambda: ONE.clone().add_(2, TWO), [5.0, 5.0]),
    (lambda: ONE.add(2, TWO), [5.0, 5.0]),
    (lambda: torch.add(ONE, 2, TWO), [5.0, 5.0]),
    (lambda: torch.add(ONE, 2, TWO, out=torch.zeros(2)), [5.0, 5.0]),
    (lambda: ONE.clone().sub_(2, TWO), [-3.0, -3.0]),
    (lambda: torch.sub(ONE, 2, TWO), [-3.0, -3.0]),
    (lambda: ONE.clone().addcmul_(0.5, TWO, TWO), [3.0, 3.0]),
    (lambda: torch.addcmul(ONE, 0.5, TWO, TWO), [3.0, 3.0]),
    (lambda: ONE.clone().addcdiv_(-1, TWO, TWO), [0.0, 0.0]),
    (lambda: torch.addcdiv(ONE, -1, TWO, TWO), [0.0, 0.0]),
    (lambda: torch.addmm(2, M, 3, M, M), PRODUCT),
    (lambda: M.addmm(2, 3, M, M), PRODUCT),
    (lambda: M.clone().addmm_(2, 3, M, M), PRODUCT),
    (lambda: torch.addmm(2, M, M, M), (2 * M + M @ M).tolist()),
    (lambda: M.addmm(2, M, M), (2 * M + M @ M).tolist()),
    (lambda: torch.addmv(2, ONE, 3, M, ONE), [11.0, 23.0]),
    (lambda: ONE.clone().addmv_(2, 3, M, ONE), [11.0, 23.0]),
    (lambda: torch.addr(2, M, 3, ONE, ONE), (2 * M + 3).tolist()),
    (lambda: M.clone().addr_(2, 3, ONE, ONE), (2 * M + 3).tolist()),
    (lambda: torch.addbmm(2, M, 3, M[None], M[None]), PRODUCT),
    (lambda: torch.baddbmm(2, M[None], 3, M[None], M[None]), [PRODUCT]),
    (lambda: M[None].clone().baddbmm_(2, 3, M[None], M[None]), [PRODUCT]),
]


@pytest.mark.parametrize("call, wanted", DEPRECATED)
def test_numbers_ahead_of_tensors(call, wanted):
    with pytest.warns(UserWarning, match="deprecated"):
        assert call().tolist() == wanted


def test_changed_tensor_is_the_receiver_and_warnings_can_be_errors():
    x = torch.zeros(2)
    with pytest.warns(UserWarning):
        assert x.add_(2, ONE) is x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            x.add_(2, ONE)
        torch.add(x, ONE, alpha=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.add(ONE, TWO, 2),
        lambda: ONE.add_(TWO, 2),
        lambda: torch.mul(ONE, 2, TWO),
        lambda: torch.add(2, ONE, TWO),
        lambda: torch.addmm(1, M, 2, M, 3, M),
    ],
)
def test_other_orders_are_type_errors(call):
    with pytest.raises(TypeError):
        call()


# einsum

B = torch.arange(24.0).reshape(2, 3, 4)
SUBLISTS = [
    ((M, [0, 1], M, [1, 2], [0, 2]), "ij,jk->ik"),
    ((M, [0, 1], M, [1, 2]), "ij,jk"),
    ((M, (0, 1), M, (1, 2), (0, 2)), "ij,jk->ik"),
    ((B, [..., 0, 1], B, [..., 0, 2], [..., 1, 2]), "...ij,...ik->...jk"),
    ((B, [...], [...]), "...->..."),
    ((M, [0, 1], [1, 0]), "ij->ji"),
    ((M, [0, 1], []), "ij->"),
    ((M, [0, 0]), "ii"),
    ((M, [51, 51], [51]), "zz->z"),
    ((M, [27, 1]), "bB"),
    ((M, [1, 0]), "ba"),
    ((M, [np.int64(0), 1], M, [0, 1]), "ij,ij"),
]


@pytest.mark.parametrize("args, equation", SUBLISTS, ids=[equation for _, equation in SUBLISTS])
def test_einsum_of_sublists(args, equation):
    operands = [arg for arg in args if isinstance(arg, torch.Tensor)]
    assert torch.equal(torch.einsum(*args), torch.einsum(equation, *operands))


def test_einsum_of_sublists_has_a_gradient():
    x = M.clone().requires_grad_()
    torch.einsum(x, [0, 1], M, [1, 2], [0, 2]).sum().backward()
    assert x.grad.tolist() == [[3.0, 7.0]] * 2


@pytest.mark.parametrize(
    "args, error",
    [
        ((M, [52, 52]), ValueError),
        ((M, [-1, 0]), ValueError),
        ((M, [0]), ValueError),
        ((M, [0.5, 0]), TypeError),
        ((M, [0, 1], M), TypeError),
        ((M,), TypeError),
        ((), TypeError),
    ],
)
def test_einsum_refuses_other_sublists(args, error):
    with pytest.raises(error):
        torch.einsum(*args)


# Numbers as elements


@pytest.mark.parametrize("number, wanted", [(3, 3.0), (2.5, 2.5), (True, 1.0), (np.float32(2), 2.0)])
def test_copy_of_a_number(number, wanted):
    x = torch.zeros(3)
    version = x._version
    assert x.copy_(number) is x and x.tolist() == [wanted] * 3 and x._version > version


def test_copy_of_a_number_casts_as_elements_are_cast():
    assert torch.zeros(2, dtype=torch.uint8).copy_(300).tolist() == [44, 44]
    assert torch.zeros(2, dtype=torch.int64).copy_(2.7, non_blocking=True).tolist() == [2, 2]
    assert torch.zeros(2).copy_(other=torch.ones(1)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        torch.zeros(3).copy_([1.0, 2.0, 3.0])


def stretched():
    x = torch.zeros(2)
    return x, x.expand(3, 2)


def assigned(key, value):
    def write(y):
        y[key] = value

    return write


@pytest.mark.parametrize(
    "write, wanted",
    [
        (assigned(slice(None), 5), [5.0, 5.0]),
        (assigned(..., 5), [5.0, 5.0]),
        (assigned((slice(None), 0), 5), [5.0, 0.0]),
        (assigned((slice(None, 2), 1), 5), [0.0, 5.0]),
        (lambda y: y.fill_(5), [5.0, 5.0]),
        (lambda y: y.zero_(), [0.0, 0.0]),
    ],
)
def test_number_into_stretched_memory(write, wanted):
    x, y = stretched()
    write(y)
    assert x.tolist() == wanted and y.tolist() == [wanted] * 3


@pytest.mark.parametrize(
    "write", [assigned(slice(None), torch.ones(2)), lambda y: y.copy_(torch.ones(3, 2)), lambda y: y.add_(1)]
)
def test_elements_into_stretched_memory_are_refused(write):
    x, y = stretched()
    with pytest.raises(RuntimeError):
        write(y)
    assert x.tolist() == [0.0, 0.0]


def test_number_into_stretched_memory_has_a_gradient():
    x = torch.ones(2, requires_grad=True)
    base = x * 3
    base.expand(3, 2)[:, 0] = 5
    base.sum().backward()
    assert (base.tolist(), x.grad.tolist()) == ([5.0, 3.0], [0.0, 3.0])


# Bounds and defaults


def test_logit_with_bounds_the_wrong_way_round():
    x = torch.tensor([0.2, 0.7, 1.0, 0.0, float("nan")], requires_grad=True)
    y = torch.logit(x, eps=0.9)
    wanted = torch.tensor([2.1972, 2.1972, -2.1972, 2.1972, float("nan")])
    assert torch.allclose(y, wanted, atol=1e-4, equal_nan=True)
    assert torch.logit(x[:2], eps=1.0).tolist() == [float("inf")] * 2
    assert torch.tensor([0.2]).logit_(1.0).tolist() == [float("inf")]
    y[:4].sum().backward()
    assert x.grad[:4].tolist() == [0.0] * 4 and x.grad[4].isnan()


def test_triplet_margin_with_distance_loss_by_default():
    anchor, positive, negative = torch.ones(2, 3), torch.ones(2, 3), 2 * torch.ones(2, 3)
    wanted = F.triplet_margin_loss(anchor, positive, negative, margin=3.0)
    assert torch.allclose(F.triplet_margin_with_distance_loss(anchor, positive, negative, margin=3.0), wanted)
    assert F.triplet_margin_with_distance_loss(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0)).item() == 1.0
    assert torch.pairwise_distance(torch.tensor(3.0), torch.tensor(1.0)).item() == pytest.approx(2.0)
    for wrong in (dict(margin=-1.0), dict(reduction="most")):
        with pytest.raises(ValueError):
            F.triplet_margin_with_distance_loss(anchor, positive, negative, **wrong)
    with pytest.raises(ValueError):
        F.triplet_margin_with_distance_loss(anchor, positive, negative[0])


def test_distances_of_triplets_have_a_common_shape_and_dtype():
    anchor, positive, negative = torch.ones(1, 5), torch.zeros(3, 5), 2 * torch.ones(1, 5)
    wanted = [1.0, 1.0, 1.0]
    assert F.triplet_margin_loss(anchor, positive, negative, reduction="none").tolist() == pytest.approx(wanted, rel=1e-5)
    assert F.triplet_margin_loss(anchor, positive, negative, swap=True, reduction="none").tolist() == pytest.approx(wanted, rel=1e-5)
    assert F.triplet_margin_loss(anchor, positive.double(), negative.half()).dtype == torch.float64


def test_a_place_in_no_dimension_has_no_coordinates():
    assert torch.unravel_index(torch.tensor([3, 0]), []) == ()


def test_keywords_that_say_how_elements_lie():
    x = torch.arange(120.0).reshape(2, 3, 4, 5).requires_grad_()
    last = x.contiguous(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and last.equal(x)
    last.sum().backward()
    assert x.grad.equal(torch.ones_like(x, memory_format=torch.preserve_format))
    assert last.clone(memory_format=torch.contiguous_format).is_contiguous() and torch.clone(last, memory_format=torch.preserve_format).equal(x)
    assert torch.empty_like(x, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    leaf = torch.zeros(2, 3, 4, 5, memory_format=torch.channels_last, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and leaf.stride() == (60, 1, 15, 3)
    assert torch.rand(2, layout=torch.strided, pin_memory=True, names=None).shape == (2,)
    with pytest.raises(NotImplementedError, match="strided"):
        torch.zeros(2, layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match="required rank 4"):
        torch.ones(2).contiguous(memory_format=torch.channels_last)
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.add(x, 1, layout=torch.strided)


def test_all_that_makes_a_tensor_takes_pytorchs_keywords(tmp_path):
    x = torch.ones(2)
    laid = {"layout": torch.strided, "pin_memory": False}
    options = dict(dtype=torch.float64, device="cpu", requires_grad=True, **laid)
    (tmp_path / "memory").write_bytes(bytes(64))
    made = [getattr(torch, f"{name}_window")(4, **options) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")]
    made += [torch.scalar_tensor(1, **options), torch.empty_permuted((2, 3), (1, 0), **options), torch.from_file(str(tmp_path / "memory"), False, 8, **options)]
    made += [torch.fft.fftfreq(4, **options), torch.fft.rfftfreq(4, **options), x.new_zeros(2, **options), x.new_full((2,), 3.0, **options)]
    made += [x.new_empty(2, **options), x.new_ones((1,), **options), x.new_empty_strided((2,), (1,), **options)]
    assert all(x.dtype is torch.float64 and x.requires_grad for x in made)
    assert torch.tril_indices(2, 2, **laid).shape == torch.triu_indices(2, 2, **laid).shape == (2, 3)
    assert torch.normal(0.0, 1.0, (3,), **laid).shape == (3,)
    last = torch.ones(1, 2, 3, 4).cfloat(memory_format=torch.channels_last)
    assert last.dtype is torch.complex64 and last.stride() == (24, 1, 8, 2)
    for change in torch.Tensor.half, torch.Tensor.cpu, lambda x, **options: x.to(torch.float64, **options), lambda x, **options: x.to(copy=True, **options):
        assert change(torch.ones(1, 2, 3, 4), memory_format=torch.channels_last).stride() == (24, 1, 8, 2)
    assert x.contiguous() is x and x.contiguous(memory_format=torch.contiguous_format) is x


def test_parameters_by_their_other_names():
    a = torch.tensor([[2.0, 0.0], [1.0, 3.0]])
    assert torch.linalg.det(A=a).item() == 6 and torch.linalg.det(input=a).item() == 6
    assert torch.linalg.pinv(input=a).equal(torch.linalg.pinv(a)) and torch.linalg.vector_norm(input=a, ord=1).item() == 6
    assert torch.cholesky_solve(a, input2=a).equal(torch.cholesky_solve(a, a))
    assert torch.isin(element=1, test_elements=a).item() and torch.isin(a, test_element=3).tolist() == [[False, False], [False, True]]
    assert torch.dropout(a, 0.5, train=False).equal(a)
    with pytest.raises(TypeError, match="given: .*A=Tensor"):
        torch.linalg.det(a, A=a)
    with pytest.raises(TypeError, match="det"):
        torch.linalg.det(input=a, A=a)


def test_functions_written_in_python_take_out():
    a = torch.tensor([[2.0, 0.0], [1.0, 3.0]])
    reflections, tau = torch.geqrf(a)
    calls = [
        lambda **out: torch.ormqr(reflections, tau, a, **out),
        lambda **out: torch.linalg.ldl_factor(a, **out),
        lambda **out: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), a, **out),
        lambda **out: torch.triangular_solve(a, a, **out),
        lambda **out: torch.nuclear_norm(a, **out),
        lambda **out: torch.diagonal_copy(a, **out),
        lambda **out: torch.unbind_copy(a, **out),
        lambda **out: torch.nonzero_static(a, size=2, **out),
        lambda **out: torch.special.hermite_polynomial_h(a, 3, **out),
    ]
    for call in calls:
        wanted = call()
        several = isinstance(wanted, tuple)
        out = tuple(x.new_empty(0) for x in wanted) if several else wanted.new_empty(0)
        found = call(out=out)
        assert type(found) is type(wanted) and all(x is y for x, y in (zip(found, out) if several else [(found, out)]))
        assert all(x.equal(y) for x, y in (zip(out, wanted) if several else [(out, wanted)]))
    with pytest.raises(TypeError, match="unbind_copy.*tuple of 2 Tensors"):
        torch.unbind_copy(a, out=torch.empty(0))
    first = torch.zeros(2)
    with pytest.raises(TypeError, match="unbind_copy"):
        torch.unbind_copy(a, out=(first, torch.zeros(2, dtype=torch.int64)))
    assert first.eq(0).all()
