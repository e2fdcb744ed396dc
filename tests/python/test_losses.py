"""Every loss against numpy, element by element, and its reductions."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

import opforge as torch
from opforge import nn
from opforge.nn import functional as F

RNG = np.random.default_rng(0)
N, C = 6, 5
X, Y, Z = RNG.standard_normal((3, N, C))
P, Q = RNG.uniform(0.05, 0.95, (2, N, C))
SIGNS = RNG.choice([-1.0, 1.0], (N, C))
CLASSES = np.array([0, 3, 4, 2, 2, 1])
WEIGHT = np.array([0.3, 1.0, 0.5, 2.0, 0.7])
ROWS = np.arange(N)


def relu(x):
    return np.maximum(x, 0)


def cosine(a, b):
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def distance(a, b, p=2.0, eps=1e-6):
    return (np.abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def bce(p, y):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def margins(power, weight, margin=1.0):
    """The multi-class hinge, the target's own column left out."""
    terms = relu(margin - X[ROWS, CLASSES][:, None] + X) ** power * weight[CLASSES][:, None]
    terms[ROWS, CLASSES] = 0
    return terms.sum(1) / C


def multilabel_margins(x, targets):
    """Targets are the entries before the first negative one."""
    labels = [int(t) for t in targets[: list(targets).index(-1)]]
    others = [i for i in range(len(x)) if i not in labels]
    return sum(relu(1 - (x[j] - x[i])) for j in labels for i in others) / len(x)


LABELS = np.array([[3, 0, -1, 1, 2], [1, -1, 0, 0, 0]])

# Module, its arguments, and what an element is.
ELEMENTWISE = [
    (lambda r: nn.L1Loss(reduction=r), (X, Y), np.abs(X - Y)),
    (lambda r: nn.MSELoss(reduction=r), (X, Y), (X - Y) ** 2),
    (
        lambda r: nn.SmoothL1Loss(reduction=r, beta=0.7),
        (X, Y),
        np.where(np.abs(X - Y) < 0.7, (X - Y) ** 2 / 1.4, np.abs(X - Y) - 0.35),
    ),
    (
        lambda r: nn.HuberLoss(reduction=r, delta=0.7),
        (X, Y),
        np.where(np.abs(X - Y) < 0.7, (X - Y) ** 2 / 2, 0.7 * (np.abs(X - Y) - 0.35)),
    ),
    (lambda r: nn.BCELoss(reduction=r), (P, Q), bce(P, Q)),
    (lambda r: nn.BCELoss(torch.from_numpy(WEIGHT), reduction=r), (P, Q), bce(P, Q) * WEIGHT),
    (lambda r: nn.BCEWithLogitsLoss(reduction=r), (X, Q), bce(expit(X), Q)),
    (
        lambda r: nn.BCEWithLogitsLoss(reduction=r, pos_weight=torch.from_numpy(WEIGHT)),
        (X, Q),
        -(WEIGHT * Q * np.log(expit(X)) + (1 - Q) * np.log(expit(-X))),
    ),
    (lambda r: nn.KLDivLoss(reduction=r), (X, Q), Q * (np.log(Q) - X)),
    (lambda r: nn.KLDivLoss(reduction=r, log_target=True), (X, Y), np.exp(Y) * (Y - X)),
    (lambda r: nn.PoissonNLLLoss(reduction=r), (X, Q), np.exp(X) - Q * X),
    (lambda r: nn.PoissonNLLLoss(False, reduction=r), (P, Q), P - Q * np.log(P + 1e-8)),
    (
        lambda r: nn.PoissonNLLLoss(full=True, reduction=r),
        (X, 4 * Q),
        np.exp(X)
        - 4 * Q * X
        + np.where(4 * Q > 1, 4 * Q * np.log(4 * Q) - 4 * Q + np.log(8 * np.pi * Q) / 2, 0),
    ),
    (lambda r: nn.GaussianNLLLoss(reduction=r), (X, Y, P), (np.log(P) + (X - Y) ** 2 / P) / 2),
    (
        lambda r: nn.GaussianNLLLoss(full=True, reduction=r),
        (X, Y, P),
        (np.log(P) + (X - Y) ** 2 / P + np.log(2 * np.pi)) / 2,
    ),
    (lambda r: nn.HingeEmbeddingLoss(0.5, reduction=r), (X, SIGNS), np.where(SIGNS > 0, X, relu(0.5 - X))),
    (lambda r: nn.SoftMarginLoss(reduction=r), (X, SIGNS), np.log1p(np.exp(-SIGNS * X))),
    (
        lambda r: nn.CosineEmbeddingLoss(0.2, reduction=r),
        (X, Y, SIGNS[:, 0]),
        np.where(SIGNS[:, 0] > 0, 1 - cosine(X, Y), relu(cosine(X, Y) - 0.2)),
    ),
    (lambda r: nn.MarginRankingLoss(0.5, reduction=r), (X, Y, SIGNS), relu(-SIGNS * (X - Y) + 0.5)),
    (
        lambda r: nn.MultiLabelMarginLoss(reduction=r),
        (X[:2], LABELS),
        np.array([multilabel_margins(*row) for row in zip(X, LABELS)]),
    ),
    (lambda r: nn.MultiLabelSoftMarginLoss(reduction=r), (X, Q), bce(expit(X), Q).mean(1)),
    (lambda r: nn.MultiMarginLoss(reduction=r), (X, CLASSES), margins(1, np.ones(C))),
    (
        lambda r: nn.MultiMarginLoss(2, 0.5, torch.from_numpy(WEIGHT), reduction=r),
        (X, CLASSES),
        margins(2, WEIGHT, 0.5),
    ),
    (lambda r: nn.TripletMarginLoss(reduction=r), (X, Y, Z), relu(distance(X, Y) - distance(X, Z) + 1)),
    (
        lambda r: nn.TripletMarginLoss(0.5, 1.0, swap=True, reduction=r),
        (X, Y, Z),
        relu(distance(X, Y, 1) - np.minimum(distance(X, Z, 1), distance(Y, Z, 1)) + 0.5),
    ),
    (
        lambda r: nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), reduction=r),
        (X, Y, Z),
        relu(np.abs(X - Y).sum(-1) - np.abs(X - Z).sum(-1) + 1),
    ),
    (lambda r: nn.NLLLoss(reduction=r), (X, CLASSES), -X[ROWS, CLASSES]),
    (lambda r: nn.CrossEntropyLoss(reduction=r), (X, CLASSES), -log_softmax(X, 1)[ROWS, CLASSES]),
    (lambda r: nn.CrossEntropyLoss(reduction=r), (X, softmax(Y, 1)), -(log_softmax(X, 1) * softmax(Y, 1)).sum(1)),
    (
        lambda r: nn.CrossEntropyLoss(reduction=r, label_smoothing=0.2),
        (X, CLASSES),
        -0.8 * log_softmax(X, 1)[ROWS, CLASSES] - 0.2 * log_softmax(X, 1).mean(1),
    ),
]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("make", "arguments", "element"), ELEMENTWISE)
def test_against_numpy(make, arguments, element, reduction):
    first, *rest = (torch.from_numpy(a) for a in arguments)
    loss = make(reduction)(first.requires_grad_(), *rest)
    expected = element if reduction == "none" else getattr(element, reduction)()
    np.testing.assert_allclose(loss.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    loss.sum().backward()
    assert first.grad.shape == first.shape and first.grad.isfinite().all().item()


@pytest.mark.parametrize(("make", "scores"), [(nn.NLLLoss, X), (nn.CrossEntropyLoss, log_softmax(X, 1))])
@pytest.mark.parametrize("ignore", [-100, 2])
def test_class_weights_divide_the_mean(make, scores, ignore):
    weight = WEIGHT[CLASSES] * (CLASSES != ignore)
    terms = -scores[ROWS, CLASSES] * weight
    for reduction, expected in {"none": terms, "sum": terms.sum(), "mean": terms.sum() / weight.sum()}.items():
        loss = make(torch.from_numpy(WEIGHT), ignore_index=ignore, reduction=reduction)
        actual = loss(torch.from_numpy(X), torch.from_numpy(CLASSES))
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-10)


def test_classes_of_every_pixel():
    x = RNG.standard_normal((2, C, 3, 4))
    y = RNG.integers(0, C, (2, 3, 4))
    expected = -np.take_along_axis(log_softmax(x, 1), y[:, None], 1).mean()
    assert nn.CrossEntropyLoss()(torch.from_numpy(x), torch.from_numpy(y)).item() == pytest.approx(expected)


def alignments(log_probs, labels):
    """The logarithm of the sum over all paths that collapse to `labels`, with 0 as the blank."""
    steps, classes = log_probs.shape
    total = -np.inf
    for path in np.ndindex(*[classes] * steps):
        kept = [c for t, c in enumerate(path) if c and (t == 0 or path[t - 1] != c)]
        if kept == list(labels):
            total = np.logaddexp(total, sum(log_probs[t, c] for t, c in enumerate(path)))
    return total


def test_ctc_is_the_sum_over_alignments():
    log_probs = log_softmax(RNG.standard_normal((4, 2, 3)), -1)
    labels, lengths = [[1, 2], [2, 0]], [2, 1]
    expected = np.array([-alignments(log_probs[:4, 0], [1, 2]), -alignments(log_probs[:3, 1], [2])])
    arguments = torch.from_numpy(log_probs), torch.tensor(labels), (4, 3), lengths
    for reduction, wanted in {"none": expected, "sum": expected.sum(), "mean": (expected / lengths).mean()}.items():
        np.testing.assert_allclose(nn.CTCLoss(reduction=reduction)(*arguments).numpy(), wanted, rtol=1e-9)
    impossible = torch.from_numpy(log_probs), torch.tensor([[1, 1], [1, 1]]), (2, 2), (2, 2)
    assert nn.CTCLoss()(*impossible).item() == np.inf and nn.CTCLoss(zero_infinity=True)(*impossible).item() == 0


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_infinite_ctc_loss_has_no_gradient_at_the_steps_of_its_sequence(reduction):
    def gradient(**options):
        scores = torch.from_numpy(np.linspace(-1, 1, 18).reshape(3, 2, 3) ** 2).requires_grad_()
        loss = nn.CTCLoss(reduction=reduction, **options)(scores.log_softmax(-1), torch.tensor([[1, 1], [1, 2]]), (2, 3), (2, 2))
        return torch.autograd.grad(loss.sum(), scores)[0].numpy()

    found, without = gradient(), gradient(zero_infinity=True)
    assert np.isnan(found[:2, 0]).all() and (found[2, 0] == 0).all()
    assert np.isfinite(without).all() and without[:, 1].any()
    np.testing.assert_array_equal(found[:, 1], without[:, 1])


def test_older_arguments_and_batchmean():
    x, y, q = (torch.from_numpy(a) for a in (X, Y, Q))
    assert nn.MSELoss(size_average=False)(x, y).item() == pytest.approx(((X - Y) ** 2).sum())
    assert nn.MSELoss(reduce=False)(x, y).shape == (N, C)
    assert nn.KLDivLoss(reduction="batchmean")(x, q).item() == pytest.approx((Q * (np.log(Q) - X)).sum() / N)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.MSELoss(reduction="median")(torch.ones(1), torch.ones(1)),
        lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 3])),
        lambda: nn.TripletMarginLoss(margin=-1),
        lambda: nn.MultiMarginLoss(p=3),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises((ValueError, IndexError)):
        call()


@pytest.mark.parametrize("var", [torch.tensor([1.0, -1e-9]), torch.tensor(-1, dtype=torch.int64), -0.5])
def test_negative_variances_are_refused(var):
    x = torch.ones(2)
    for call in nn.functional.gaussian_nll_loss, nn.GaussianNLLLoss():
        with pytest.raises(ValueError, match="var has negative entry/entries"):
            call(x, x, var)
    zeros = torch.zeros(2)
    assert nn.functional.gaussian_nll_loss(x, zeros, zeros, False, 0.5).item() == pytest.approx(0.5 * (np.log(0.5) + 2))
    assert nn.functional.gaussian_nll_loss(x, x, torch.tensor([1.0, np.nan])).isnan()


def test_variances_are_not_read_where_they_have_no_elements():
    meta = torch.ones(2, device="meta")
    assert nn.functional.gaussian_nll_loss(meta, meta, meta).device.type == "meta"
    loss = torch.compile(lambda x, var: nn.functional.gaussian_nll_loss(x, x * 2, var), fullgraph=True)
    x = torch.ones(2)
    assert loss(x, x).item() == pytest.approx(0.5)


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
