"""Forms of calls beside the documented ones: parts by keyword, numbers ahead of tensors, other names of parameters, keywords that all have, `out`."""

import warnings

import pytest

import opforge as torch

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


def test_a_place_in_no_dimension_has_no_coordinates():
    assert torch.unravel_index(torch.tensor([3, 0]), []) == ()


def test_even_parts_are_demanded():
    x = torch.arange(24).reshape(4, 3, 2)
    assert [len(f(x, n)) for f, n in ((torch.vsplit, 2), (torch.hsplit, 3), (torch.dsplit, 2))] == [2, 3, 2]
    for f, n in ((torch.vsplit, 3), (torch.hsplit, 2), (torch.dsplit, 0)):
        with pytest.raises(torch.OpforgeError):
            f(x, n)
    with pytest.raises(torch.OpforgeError):
        torch.vsplit(x[0, 0], 1)
