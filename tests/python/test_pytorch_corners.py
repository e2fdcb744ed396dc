"""Corners of PyTorch's semantics: each row is a call and what PyTorch 2.15 gives for it."""

import cmath
import copy
import math
import pickle

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F

S = torch.tensor(2.0)
BYTES = torch.tensor([2, 0], dtype=torch.uint8)
ZERO = torch.tensor(0)
I = torch.tensor([[1, 2], [3, 4]])
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
TRUTHS, PLACES = torch.tensor([False, True, False, True]), torch.tensor([0, 0, 1, 2])
GRID = torch.tensor([[0.0, 0.0], [0.2, 0.5], [1.0, 3.0], [0.7, 2.5]])
RAMP = torch.arange(12.0).reshape(1, 1, 3, 4)


def gives(call, values, dtype=torch.float32):
    """A row; the values' nesting is the shape."""
    return pytest.param(call, torch.tensor(values, dtype=dtype))


ROWS = [
    # Scalars have one element along a dimension 0.
    gives(lambda: torch.softmax(S, 0), 1.0),
    gives(lambda: F.log_softmax(S, -1), 0.0),
    gives(lambda: F.softmin(S, 0), 1.0),
    gives(lambda: F.normalize(S, dim=0), 1.0),
    gives(lambda: F.cosine_similarity(S, -S, 0), -1.0),
    gives(lambda: S.gather(0, ZERO), 2.0),
    gives(lambda: S.gather(0, torch.tensor([0, 0])), [2.0, 2.0]),
    gives(lambda: S.index_select(0, torch.tensor([0])), 2.0),
    gives(lambda: S.index_fill(0, torch.tensor([0]), 5.0), 5.0),
    gives(lambda: S.index_copy(0, torch.tensor([0]), torch.tensor(7.0)), 7.0),
    gives(lambda: S.index_add(0, torch.tensor([0]), torch.tensor(3.0), alpha=-1), -1.0),
    gives(lambda: S.index_reduce(0, ZERO, torch.tensor(3.0), "prod"), 6.0),
    gives(lambda: S.scatter(0, ZERO, torch.tensor(9.0)), 9.0),
    gives(lambda: S.scatter_add(0, ZERO, torch.tensor(9.0)), 11.0),
    gives(lambda: S.scatter_reduce(0, ZERO, torch.tensor(9.0), "amax", include_self=False), 9.0),
    gives(lambda: S.unfold(0, 1, 1), [2.0]),
    # A tensor without dimensions is a tensor, not a dimension.
    gives(lambda: torch.max(I, ZERO), [[1, 2], [3, 4]], torch.int64),
    gives(lambda: I.min(ZERO + 2), [[1, 2], [2, 2]], torch.int64),
    # Integers become floating-point numbers where fractions arise, and sums of them are long.
    gives(lambda: F.softsign(I), [[0.5, 2 / 3], [0.75, 0.8]]),
    gives(lambda: F.tanhshrink(torch.tensor([0])), [0.0]),
    gives(lambda: F.pairwise_distance(I, I + 1, eps=0.0), [math.sqrt(2)] * 2),
    gives(lambda: F.margin_ranking_loss(I, I + 1, torch.ones_like(I), 0.5, reduction="none"), [[1.5, 1.5], [1.5, 1.5]]),
    gives(lambda: F.cosine_embedding_loss(I, I, torch.tensor([1, 1])), 0.0),
    gives(lambda: torch.tensor([True, True]).sum_to_size(1), [2], torch.int64),
    gives(lambda: torch.gradient(I, spacing=[torch.tensor([0, 2]), torch.tensor([0, 1])])[0], [[1.0, 1.0], [1.0, 1.0]]),
    gives(lambda: torch.tensor([1, 0], dtype=torch.uint8).any(), 1, torch.uint8),
    gives(lambda: torch.tensor([1, 0], dtype=torch.uint8).all(), 0, torch.uint8),
    gives(lambda: torch.tensor([1.5], dtype=torch.float16).ldexp(torch.tensor([2])), [6.0], torch.float16),
    gives(lambda: F.poisson_nll_loss(torch.tensor([0, 1]), torch.tensor([1, 2]), reduction="sum"), math.e - 1),
    gives(lambda: F.conv1d(torch.tensor([[[100, 100, 1]]], dtype=torch.int8), torch.ones(1, 1, 2, dtype=torch.int8)), [[[-56, 101]]], torch.int8),
    gives(lambda: F.conv_transpose1d(torch.tensor([[[1, 2]]]), torch.tensor([[[1, 10]]]), torch.tensor([1])), [[[2, 13, 21]]], torch.int64),
    gives(lambda: F.conv1d(torch.tensor([[[2**40 + 3, -5]]]), torch.tensor([[[2**20 + 1, 7]]]), torch.tensor([1])), [[[(2**40 + 3) * (2**20 + 1) - 34]]], torch.int64),
    gives(lambda: F.conv1d(torch.tensor([[[2**62, -(2**61) + 1]]]), torch.tensor([[[4, 8]]])), [[[8]]], torch.int64),
    gives(lambda: F.conv1d(torch.tensor([[[2**31 - 1, -(2**31)]]], dtype=torch.int32), torch.tensor([[[3, -1]]], dtype=torch.int32)), [[[-3]]], torch.int32),
    # Truth over no dimensions is each element's; a sum of truths is whether one is true.
    gives(lambda: X.any(dim=[]), [[True, True], [True, True]], torch.bool),
    gives(lambda: torch.all(ZERO.expand(1), dim=(), keepdim=True), [False], torch.bool),
    gives(lambda: I.sum(0, dtype=torch.bool), [True, True], torch.bool),
    # Factors of integers are whole; negative ones of unsigned numbers wrap.
    gives(lambda: torch.addmv(torch.tensor([8, 9]), I, torch.tensor([1, 1]), beta=0.5, alpha=2.5), [6, 14], torch.int64),
    gives(lambda: torch.add(BYTES, BYTES, alpha=-3), [252, 0], torch.uint8),
    gives(lambda: torch.sub(BYTES, BYTES, alpha=-1), [4, 0], torch.uint8),
    gives(lambda: torch.tensor([2, 3, 1, -1, 0]) ** torch.tensor([-1, -2, -1, -3, -1]), [0, 0, 1, -1, 0], torch.int64),
    gives(lambda: torch.tensor([0, 2, 3, -1]) ** (1 << 62), [0, 0, 1, 1], torch.int64),
    gives(lambda: torch.pow(2, torch.tensor([-1, 3], dtype=torch.int8)), [0, 8], torch.int8),
    gives(lambda: F.threshold(I, 1.5, 0.5), [[0, 2], [3, 4]], torch.int64),
    gives(lambda: F.hardtanh(I, -0.5, 2.5), [[1, 2], [2, 2]], torch.int64),
    gives(lambda: F.mse_loss(I, I + 2, weight=torch.tensor([[1.0, 2.0], [0.5, 0.5]])), 4.0),
    gives(lambda: F.l1_loss(I, I + I, weight=I), 3.0),
    gives(lambda: F.binary_cross_entropy_with_logits(torch.full((2,), 100.0, dtype=torch.bfloat16), torch.zeros(2)), 100.0),
    # Bounds of whole ranges are whole.
    gives(lambda: torch.linspace(4.3, 0, 5, dtype=torch.int64), [4, 3, 2, 1, 0], torch.int64),
    gives(lambda: torch.logspace(0, 1.2, 2, dtype=torch.int64), [1, 10], torch.int64),
    # An infinity or a large number elsewhere changes nothing; without degrees of freedom a variance is infinite.
    gives(lambda: torch.var(torch.tensor([[1.0, 2.0], [1.0, math.inf]]), 1), [0.5, math.nan]),
    gives(lambda: torch.std(torch.tensor([[1.0, 3.0], [3e38, -3e38]]), 1, correction=0), [1.0, 3e38]),
    gives(lambda: torch.var(X[0], correction=5), math.inf),
    gives(lambda: torch.gradient(torch.tensor([1.0, math.nan, 5.0, 6.0]))[0], [math.nan, 2.0, math.nan, 1.0]),
    gives(lambda: torch.isclose(torch.tensor([0, 7], dtype=torch.uint64), torch.tensor([1, 1], dtype=torch.uint64), rtol=1.0), [True, False], torch.bool),
    # As many matrices as rows are a batch, not vectors.
    gives(lambda: torch.linalg.inv(torch.stack([2 * torch.eye(2), torch.eye(2)])), [[[0.5, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]),
    gives(lambda: torch.linalg.inv_ex(torch.stack([2 * torch.eye(2), torch.eye(2)]))[0], [[[0.5, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]),
    # Arguments that may be None, or of several kinds.
    gives(lambda: X.var(dim=None, correction=None), 35 / 12),
    gives(lambda: torch.std_mean(X, dim=None, correction=None)[1], 2.75),
    gives(lambda: torch.var_mean(X, False)[0], 35 / 16),
    gives(lambda: torch.gradient(X[0], spacing=None, dim=None)[0], [1.0, 1.0]),
    gives(lambda: torch.atleast_2d([S, X[0]])[0], [[2.0]]),
    gives(lambda: torch.atleast_1d(S, X)[0], [2.0]),
    gives(lambda: torch.diff(X, 0, prepend=X), [[1.0, 2.0], [3.0, 5.0]]),
    gives(lambda: F.linear(X, torch.tensor([1.0, -1.0])), [-1.0, -2.0]),
    gives(lambda: torch.corrcoef(X[:1]), 1.0),
    gives(lambda: torch.sin_(input=torch.zeros(1)), [0.0]),
    gives(lambda: torch.clamp_(input=torch.ones(1), max=0.5), [0.5]),
    gives(lambda: F.linear(X, X, torch.tensor(1.0)), [[6.0, 14.0], [14.0, 35.0]]),
    gives(lambda: torch.adjoint(S), 2.0),
    gives(lambda: torch.linalg.matrix_rank(X, tol=torch.tensor([0.1, 5.0])), [2, 1], torch.int64),
    gives(lambda: torch.take_along_dim(X, torch.tensor([[-1], [0]]), 1), [[2.0], [3.0]]),
    gives(lambda: F.normalize(X, p=-1.0, dim=1), [[1.5, 3.0], [1.6, 8 / 3]]),
    gives(lambda: torch.tensor([100.0, 100.0], dtype=torch.float16).norm(p=3), 126.0, torch.float16),
    # Padding around what is cut off first.
    gives(lambda: F.pad(RAMP, (-1, 1, 0, 0), "circular")[0, 0, 0], [1.0, 2.0, 3.0, 1.0]),
    gives(lambda: torch.histogram(torch.arange(200.0)).hist, [2.0] * 100),
    gives(lambda: torch.linalg.polar(torch.diag(torch.tensor([2.0, 3.0]))).H, [[2.0, 0.0], [0.0, 3.0]]),
    # Dtypes that few functions take.
    gives(lambda: torch.heaviside(TRUTHS, torch.tensor(True)), [True, True, True, True], torch.bool),
    gives(lambda: torch.heaviside(TRUTHS, torch.tensor(False)), [False, True, False, True], torch.bool),
    gives(lambda: TRUTHS.scatter_reduce(0, PLACES, TRUTHS.flip(0), "sum"), [True, True, False, True], torch.bool),
    gives(lambda: TRUTHS.scatter_reduce(0, PLACES, TRUTHS.flip(0), "amax", include_self=False), [True, True, False, True], torch.bool),
    gives(lambda: TRUTHS.scatter_reduce(0, PLACES, TRUTHS.flip(0), "prod"), [False, True, False, True], torch.bool),
    gives(lambda: TRUTHS.scatter_reduce(0, PLACES, TRUTHS.flip(0), "amin", include_self=False), [False, True, False, True], torch.bool),
    gives(lambda: F.avg_pool1d(torch.tensor([[[-5, 2, 7, 1]]]), 3, 2, 1), [[[-1, 3]]], torch.int64),
    gives(lambda: F.avg_pool2d(torch.tensor([[[2**60 + 1, 2**60 + 3]]]), (1, 2)), [[[2**60 + 2]]], torch.int64),
    gives(lambda: torch.linalg.matrix_exp(torch.zeros(2, 2).bfloat16()), [[1.0, 0.0], [0.0, 1.0]], torch.bfloat16),
    gives(lambda: torch.einsum("ij->", torch.full((2, 100), 100, dtype=torch.int8)), 20000, torch.int64),
    gives(lambda: F.l1_loss(torch.full((300,), 100, dtype=torch.int8), torch.zeros(300, dtype=torch.int8), reduction="sum"), 30000, torch.int64),
    gives(lambda: torch.ldexp(torch.tensor([1 + 2j], dtype=torch.complex128), torch.tensor(200)), [2.0**200 * (1 + 2j)], torch.complex128),
    gives(lambda: torch.linspace(0, 2j, 3), [0, 1j, 2j], torch.complex64),
    # Operators of Python.
    gives(lambda: +X[0], [1.0, 2.0]),
    gives(lambda: torch.tensor([[1.0, 2.0]]).H, [[1.0], [2.0]]),
    gives(lambda: RAMP[0].mH[0], [[0.0, 4.0, 8.0], [1.0, 5.0, 9.0], [2.0, 6.0, 10.0], [3.0, 7.0, 11.0]]),
    # Windows of signals.
    gives(lambda: torch.hann_window(4), [0.0, 0.5, 1.0, 0.5]),
    gives(lambda: torch.hann_window(3, periodic=False), [0.0, 1.0, 0.0]),
    gives(lambda: torch.hamming_window(4, True, 0.5, 0.5), [0.0, 0.5, 1.0, 0.5]),
    gives(lambda: torch.bartlett_window(4), [0.0, 0.5, 1.0, 0.5]),
    gives(lambda: torch.blackman_window(4), [0.0, 0.34, 1.0, 0.34]),
    gives(lambda: torch.kaiser_window(4, True, 2.0), [0.4386763, 0.8347615, 1.0, 0.8347615]),
    gives(lambda: torch.kaiser_window(1), [1.0]),
    gives(lambda: torch.hann_window(0), []),
    # Counts on grids.
    gives(lambda: torch.histogramdd(GRID, [2, 3])[0], [[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]]),
    gives(lambda: torch.histogramdd(GRID, 2, range=[0.0, 1.0, 0.0, 3.0], weight=torch.arange(4.0), density=True)[0], [[0.2222222, 0.0], [0.0, 1.1111111]]),
    gives(lambda: torch.histogramdd(GRID, [torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0.0, 2.0])]).bin_edges[1], [0.0, 2.0]),
    gives(lambda: torch.scalar_tensor(3), 3.0),
    # Images.
    gives(lambda: F.interpolate((20 * RAMP).to(torch.uint8), (2, 2), mode="bilinear")[0, 0], [[30, 70], [150, 190]], torch.uint8),
    gives(lambda: F.interpolate(RAMP, (2, 2), mode="bilinear", antialias=True)[0, 0], [[2.2142856, 3.7857144], [7.2142859, 8.7857141]]),
    gives(lambda: F.interpolate(RAMP, (5, 2), mode="bicubic", antialias=True)[0, 0, 0], [0.28489017486572266, 2.1113362312316895]),
]


@pytest.mark.parametrize("call, wanted", ROWS)
def test_result_is_that_of_pytorch(call, wanted):
    result = call()
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    assert torch.allclose(result, wanted, rtol=1e-4 if wanted.dtype is torch.float32 else 1e-2, atol=1e-6, equal_nan=True), result


def test_a_bias_alone_has_a_gradient():
    bias = torch.zeros(4, requires_grad=True)
    F.group_norm(torch.arange(24.0).reshape(2, 4, 3), 2, bias=bias).sum().backward()
    assert bias.grad.tolist() == [6.0] * 4


def test_augmented_operators_write_in_place():
    x, i = torch.tensor([2.0, 3.0]), torch.tensor([4])
    before_x, before_i = x, i
    x **= 2
    i <<= 2
    i >>= 1
    assert x is before_x and i is before_i
    assert (x.tolist(), i.tolist()) == ([4.0, 9.0], [8])


def test_shapes_that_broadcast():
    assert torch.broadcast_shapes((2, 1), 3, (1, 1, 1)) == torch.Size([1, 2, 3])
    assert torch.broadcast_shapes() == torch.Size()
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((2,), (3,))
    assert torch.is_same_size(X, X + 1) and not torch.is_same_size(X, X[0])


BEYOND = [
    lambda: torch.ones(2).fill_(1e40),
    lambda: torch.full((2,), -1e40),
    lambda: torch.full_like(X, 1e40),
    lambda: X.new_full((2,), 1e40),
    lambda: torch.ones(2, dtype=torch.float16).fill_(65510),
    lambda: torch.ones(2, dtype=torch.bfloat16).fill_(3.4e38),
    lambda: torch.ones(2, dtype=torch.complex64).fill_(1e40),
    lambda: BYTES.clone().fill_(-1.0),
    lambda: F.pad(BYTES, (1, 1), value=-1),
    lambda: F.pad(X, (1, 1), value=1e40),
    lambda: X.masked_fill(X > 1, 1e40),
    lambda: X.index_fill(0, torch.tensor([0]), 1e40),
]


@pytest.mark.parametrize("call", BEYOND)
def test_numbers_beyond_a_dtype_are_not_assigned(call):
    with pytest.raises(RuntimeError, match="range of"):
        call()


def test_infinity_and_negative_integers_are_assigned():
    assert torch.ones(2).fill_(math.inf).tolist() == [math.inf] * 2
    assert BYTES.clone().fill_(-1).tolist() == [255, 255]
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    assert F.pad(X[:1, :1], (1, 0), value=-math.inf).tolist() == [[-math.inf, 1.0]]
    assert torch.ones(1).to(torch.float16).fill_(65504).tolist() == [65504.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.masked_fill_(torch.tensor([True, False, False]), 2),
        lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(2.0)),
        lambda x: x.index_fill_(0, torch.tensor([0]), 2.0),
        lambda x: x.scatter_(0, torch.tensor([0]), 2.0),
        lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1)),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.__setitem__(torch.tensor([0]), 2),
    ],
)
def test_single_elements_of_an_expanded_tensor_are_not_written(write):
    base = torch.ones(1)
    with pytest.raises(RuntimeError, match="share memory"):
        write(base.expand(3))
    assert base.item() == 1


def test_medians_of_nothing():
    for median in (torch.median, torch.nanmedian):
        assert math.isnan(median(torch.tensor([])).item())
        assert median(torch.zeros(0, 3), 1)[0].shape == (0,)
        for nothing in (lambda: median(torch.zeros(0, 3), 0), lambda: median(torch.tensor([], dtype=torch.int64))):
            with pytest.raises(RuntimeError):
                nothing()


def test_diagonals_that_wrap_are_filled_at_once():
    np = pytest.importorskip("numpy")
    for rows in range(1, 24):
        for x in (torch.zeros(rows, 4), torch.zeros(4, rows).T):
            expected = np.zeros((rows, 4), np.float32)
            np.fill_diagonal(expected, 3, wrap=True)
            assert np.array_equal(x.fill_diagonal_(3, wrap=True).numpy(), expected), (rows, x.stride())
    # Block by block it would take minutes.
    assert torch.zeros(1, 4).expand(2**29, 4).fill_diagonal_(3, wrap=True)[0].tolist() == [3.0] * 4


def test_numbers_in_bfloat16_are_rounded_to_the_nearest():
    number = 1.5820318090528593
    assert torch.full((), number, dtype=torch.bfloat16).item() == 1.5859375
    assert torch.tensor([1.0, number], dtype=torch.bfloat16).cumprod(0)[1].item() == 1.5859375


def test_householder_products_of_tall_matrices_need_no_square_ones():
    tall = torch.linalg.householder_product(torch.zeros(2**17, 2), torch.zeros(2))
    assert tall.sum().item() == 2


def test_the_inverse_of_a_vector_is_a_shape_error():
    with pytest.raises(torch.ShapeError, match="square"):
        torch.linalg.inv(torch.ones(1).expand(2**20))


def test_equal_compares_numbers_of_two_dtypes():
    x = torch.tensor([1, 2])
    assert torch.equal(x, torch.tensor([1.0, 2.0])) and not torch.equal(x, torch.tensor([1.0, 2.5]))
    assert torch.equal(torch.empty(8, 0, dtype=torch.int64), torch.empty(8, 0)) and not torch.equal(x, x[:1])


def test_the_adjoint_of_a_complex_number_is_its_conjugate():
    x = torch.tensor(1.09 - 0.57j)
    assert x.H.item() == x.mH.item() == x.adjoint().item() == x.item().conjugate()


def test_parts_of_shapes_are_shapes():
    shape = torch.empty(2, 3, 4).shape
    for part in (shape[:2], shape[::-1], shape[5:], shape[:], shape + (1,)):
        assert type(part) is torch.Size and part.numel() == int(np.prod(part))
    assert shape[1] == shape[-2] == 3 and shape[1:] == (3, 4) and hash(shape) == hash((2, 3, 4))
    assert pickle.loads(pickle.dumps(shape)) == copy.deepcopy(shape) == shape and type(copy.copy(shape)) is torch.Size
    for wrong in (3, "a", 1.0, None):
        with pytest.raises((IndexError, TypeError)):
            shape[wrong]


def test_factors_of_what_is_added_count_in_the_common_dtype():
    whole, vectors = torch.tensor([0, 2, 4, 1]), (torch.ones(1, dtype=torch.uint8), torch.ones(4))
    assert torch.addr(whole, *vectors, beta=0.5).tolist() == [[1.0, 2.0, 3.0, 1.5]]
    assert torch.addr(vectors[1], torch.tensor([2]), whole, alpha=3).tolist() == [[1.0, 13.0, 25.0, 7.0]]


def test_distances_of_equal_rows_are_zero_whatever_the_order():
    x = torch.ones(1, 3)
    for p in (1e-300, 0.5, 1.0, 2.0, 3.0, float("inf")):
        assert torch.cdist(x, x, p=p).item() == 0.0, p
    many = torch.randn(40, 3)
    assert torch.allclose(torch.cdist(many, many), torch.cdist(many, many, compute_mode="donot_use_mm_for_euclid_dist"), atol=1e-3)


def test_gradients_of_distances_of_order_infinity_and_of_equal_rows():
    x = torch.tensor([[0.0, 0.0], [1.0, -1.0], [0.0, 0.0]], requires_grad=True)
    torch.pdist(x, float("inf")).sum().backward()
    # Of elements as large as the distance, each has the whole.
    assert x.grad.tolist() == [[-1.0, 1.0], [2.0, -2.0], [-1.0, 1.0]]
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        equal = torch.ones(3, 2, requires_grad=True)
        (torch.cdist(equal, equal, p).sum() + torch.pdist(equal, p).sum()).backward()
        assert equal.grad.tolist() == [[0.0, 0.0]] * 3, p


def test_orders_of_distances_are_of_the_precision_that_they_are_computed_in():
    x, y = torch.zeros(1, 3), torch.tensor([[1.0, 2.0, 3.0]])
    assert torch.cdist(x, y, 1e-300).tolist() == [[3.0]] and torch.cdist(x, y, 1e300).tolist() == [[3.0]]
    assert torch.cdist(x, x, 1e300).tolist() == [[0.0]] and torch.pdist(torch.cat([y, y]), 1e300).tolist() == [0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("batch", [1, 2, 3, 20])
@pytest.mark.parametrize("shape", [(2, 1), (5, 2), (2, 5), (40, 3), (4, 4)])
def test_bases_of_batches_are_whole(dtype, batch, shape):
    torch.manual_seed(0)
    a = torch.randn(batch, *shape, dtype=dtype)
    for scale in (1.0, 1e30, 1e-30):
        u, s, v = torch.linalg.svd(a * scale)
        k = s.shape[-1]
        for basis in (u, v):
            torch.testing.assert_close(basis.mH @ basis, torch.eye(basis.shape[-1], dtype=dtype).expand_as(basis), atol=1e-5, rtol=0)
        torch.testing.assert_close(u[..., :k] * (s / scale).to(dtype).unsqueeze(-2) @ v[..., :k, :], a, atol=1e-5, rtol=1e-5)
    q, r = torch.linalg.qr(a, mode="complete")
    torch.testing.assert_close(q.mH @ q, torch.eye(q.shape[-1], dtype=dtype).expand_as(q), atol=1e-5, rtol=0)
    torch.testing.assert_close(q @ r, a, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("power", [-125, -60, 60, 120])
def test_eigenvalues_of_very_large_and_small_numbers(power):
    a = torch.tensor([[1.0, 2.0, 0.5], [-2.0, 1.0, 0.25], [0.5, -0.25, 3.0]])
    values, vectors = torch.linalg.eig(a * 2.0**power)
    torch.testing.assert_close(values / 2.0**power, torch.linalg.eigvals(a))
    torch.testing.assert_close(a.to(vectors.dtype) @ vectors, vectors * (values / 2.0**power))


def test_inverses_of_singular_matrices_leave_out_what_rounding_makes():
    torch.testing.assert_close(torch.pinverse(torch.ones(2, 3)), torch.full((3, 2), 1 / 6))
    torch.testing.assert_close(torch.ones(4, 4).pinverse(), torch.full((4, 4), 1 / 16))


def test_upper_factors_read_the_upper_triangle():
    a = torch.tensor([[4.0, 2.0], [9.0, 5.0]])
    assert torch.linalg.cholesky(a, upper=True).tolist() == [[2.0, 1.0], [0.0, 2.0]] == torch.linalg.cholesky_ex(a, upper=True).L.tolist()
    assert torch.linalg.cholesky(a.mT).tolist() == [[2.0, 0.0], [1.0, 2.0]]


def test_distances_of_nothing():
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf")):
        assert torch.equal(torch.cdist(torch.ones(2, 3, 0), torch.ones(4, 0), p), torch.zeros(2, 3, 4)), p
        assert torch.cdist(torch.ones(0, 2), torch.ones(3, 2), p).shape == (0, 3)
        assert torch.equal(torch.pdist(torch.ones(3, 0), p), torch.zeros(3)), p
        assert torch.pdist(torch.ones(1, 2), p).shape == torch.pdist(torch.ones(0, 2), p).shape == (0,)
        x, y = torch.ones(3, 2, requires_grad=True), torch.ones(0, 2, requires_grad=True)
        (torch.cdist(x, y, p).sum() + torch.pdist(x[:1], p).sum()).backward()
        assert torch.equal(x.grad, torch.zeros(3, 2)) and y.grad.shape == (0, 2), p


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("kernel, stride, padding, ceil_mode", [(2, 2, 0, False), (3, 2, 1, False), (3, 2, 1, True), (2, 3, 0, True), (4, 1, 2, False)])
@pytest.mark.parametrize("options", [{}, {"count_include_pad": False}, {"divisor_override": -3}], ids=str)
def test_averages_of_integers_are_those_of_floats_rounded_towards_0(spatial, kernel, stride, padding, ceil_mode, options):
    if spatial == 1 and "divisor_override" in options:
        pytest.skip("avg_pool1d has none")
    x = torch.randint(-50, 50, (2, 3, *(7, 5, 6)[:spatial]))
    pool = getattr(F, f"avg_pool{spatial}d")
    averages = pool(x, kernel, stride, padding, ceil_mode, **options)
    assert averages.dtype is torch.int64 and averages.equal(pool(x.double(), kernel, stride, padding, ceil_mode, **options).trunc().long())


MAGNITUDES = torch.tensor([[[1.0, -5.0, 2.0, -3.0, 0.0, 7.0, -7.0, 4.0]]])


@pytest.mark.parametrize(("norm_type", "values", "gradient"), [
    (math.inf, [5.0, 3.0, 7.0, 7.0], [0, -1, 0, -1, 0, 1, -1, 0]), (-math.inf, [1.0, 0.0, 0.0, 4.0], [1, 0, 0, 0, 0, 0, 0, 1]),
])  # fmt: skip
def test_lp_pooling_at_the_ends_of_p_is_of_magnitudes(norm_type, values, gradient):
    x = MAGNITUDES.clone().requires_grad_()
    y = F.lp_pool1d(x, norm_type, 3, 2, ceil_mode=True)
    y.sum().backward()
    assert y.tolist() == [[values]] and x.grad.tolist() == [[gradient]]
    assert F.lp_pool1d(x, norm_type, 3, 2).tolist() == [[values[:3]]]
    for module, shape in (torch.nn.LPPool1d, (1, 1, 8)), (torch.nn.LPPool2d, (1, 1, 8, 8)), (torch.nn.LPPool3d, (1, 1, 8, 8, 8)):
        window = torch.full(shape, -1.0)
        window.view(-1)[0] = -3.0 if norm_type > 0 else 0.25
        pooled = module(norm_type, 2)(window)
        assert pooled.view(-1)[0] == window.view(-1)[0].abs() and pooled.view(-1)[1:].eq(1).all()
    assert math.isnan(F.lp_pool1d(torch.tensor([[[math.nan, 1.0]]]), norm_type, 2))


def test_numbers_that_no_element_can_be():
    x = torch.tensor([2.0**70, 1.0])
    for operation in (lambda: x == 2**70, lambda: x != 2**70, lambda: x * 2**100, lambda: 2**64 > x):
        with pytest.raises(OverflowError, match="64 bits"):
            operation()
    with pytest.raises(TypeError, match="real numbers"):
        float(torch.tensor(1j))
    assert float(torch.tensor(2 + 0j)) == 2 and range(10)[torch.tensor(3, dtype=torch.uint8)] == 3
    assert torch.tensor(2**63, dtype=torch.uint64).__index__() == 2**63


def test_complex_functions_near_their_branch_points():
    for function, exact, points in (
        (torch.atanh, cmath.atanh, [-1 + 1e-4j, -1 - 1e-9j, -1.0015808 + 4.2981952e-05j, 1.5 + 0.1j, 1e160]),
        (torch.atan, cmath.atan, [1e-5 + 1j, 9.670438565151509e-09 + 1.0000000025460987j]),
        (torch.log, cmath.log, [1.0003872 - 0.0009220167j, 0.9999999987599643 + 9.9228e-09j, 3 + 4j]),
    ):
        found = function(torch.tensor(points, dtype=torch.complex128))
        torch.testing.assert_close(found, torch.tensor([exact(z) for z in points], dtype=found.dtype), rtol=1e-7, atol=0)
    assert str(torch.sgn(torch.tensor([complex(-0.0, -0.0)])).tolist()) == "[0j]"
    for z in (0.5j, -0.3 + 0.2j, 0.3 - 0.2j, 0.9 + 0.4j):
        z = torch.tensor(z, dtype=torch.complex128, requires_grad=True)
        assert torch.autograd.gradcheck(torch.atanh, (z,)) and torch.autograd.gradcheck(torch.log, (z,))


@pytest.mark.parametrize(
    "how, wanted",
    [
        ("lower", [1, 4, 4, 4, math.inf]),
        ("higher", [1, 4, math.inf, math.inf, math.inf]),
        ("nearest", [1, 4, 4, math.inf, math.inf]),
        ("linear", [1, 4, math.inf, math.nan, math.nan]),
        ("midpoint", [1, 4, math.nan, math.nan, math.nan]),
    ],
)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_next_to_infinities(name, how, wanted):
    """Elements are taken as they are; what lies between them is what `lerp` gives, between an infinity and itself too."""
    x, q = torch.tensor([math.inf, 1, 4, 2, 3]), [0.0, 0.75, 0.8125, 0.9375, 1.0]
    quantile = getattr(torch, name)
    assert quantile(x, torch.tensor(q), interpolation=how).tolist() == pytest.approx(wanted, nan_ok=True)
    assert [quantile(x, number, interpolation=how).item() for number in q] == pytest.approx(wanted, nan_ok=True)


def test_real_signal_of_all_frequencies_comes_of_the_first_half():
    z = torch.tensor([[1 + 2j, -3j], [0.5, 2], [4, 1j], [7 - 1j, 3 + 3j]])
    options = {"n_fft": 4, "hop_length": 2, "center": False}
    found = torch.istft(z, onesided=False, **options)
    assert torch.equal(found, torch.istft(z[:3], onesided=True, **options))
    assert not torch.allclose(found, torch.istft(z, onesided=False, return_complex=True, **options).real)
