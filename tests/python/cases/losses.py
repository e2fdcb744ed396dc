"""Losses, distances, similarities."""

import numpy as np
from scipy import special
from scipy.spatial import distance

from . import case, spread

X, Y = spread(-2, 2, 4, 3), spread(-2, 2, 4, 3, seed=1)
Z = spread(-2, 2, 4, 3, seed=2)
P, T = spread(0.1, 0.9, 4, 3), spread(0, 1, 4, 3, seed=1)
SIGNS = np.sign(Y)
SIDES = np.array([1.0, -1.0, 1.0, -1.0])
CLASSES = np.array([0, 2, 1, -100])
WEIGHTS = np.array([0.5, 1.0, 2.0])
LABELS = np.array([[0, 2, -1], [1, -1, 0], [2, 1, 0], [-1, 0, 1]])


def reduced(elements):
    """The loss of these elements with the three reductions."""

    def loss(*args, reduction="mean", **options):
        values = elements(*args, **options)
        return {"none": values, "sum": np.sum(values), "mean": np.mean(values)}[reduction]

    return loss


def losses(name, elements, *args, **options):
    return [case(name, reduced(elements), *args, **options, reduction=r) for r in ("mean", "sum", "none")]


def nll(x, target, weight=np.ones(3), reduction="mean"):
    kept = target != -100
    to = np.where(kept, target, 0)
    values = np.where(kept, -x[np.arange(len(x)), to] * weight[to], 0)
    return {"none": values, "sum": values.sum(), "mean": values.sum() / (weight[to] * kept).sum()}[reduction]


def smooth_l1(x, y, beta=1.0):
    d = np.abs(x - y)
    return np.where(d < beta, d**2 / (2 * beta), d - beta / 2)


def huber(x, y, delta=1.0):
    d = np.abs(x - y)
    return np.where(d <= delta, d**2 / 2, delta * (d - delta / 2))


def bce(p, y, weight=1.0):
    return -weight * (y * np.log(p) + (1 - y) * np.log1p(-p))


def bce_logits(x, y, weight=1.0, pos_weight=1.0):
    return -weight * (pos_weight * y * special.log_expit(x) + (1 - y) * special.log_expit(-x))


def poisson(x, y, log_input=True, full=False, eps=1e-8):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    return loss + full * np.where(y > 1, y * np.log(np.maximum(y, 1)) - y + 0.5 * np.log(2 * np.pi * np.maximum(y, 1)), 0)


def gaussian(x, y, var, full=False):
    return 0.5 * (np.log(var) + (x - y) ** 2 / var) + full * 0.5 * np.log(2 * np.pi)


def cosine(a, b, dim=1, eps=1e-8):
    return (a * b).sum(dim) / np.maximum(np.linalg.norm(a, axis=dim), eps) / np.maximum(np.linalg.norm(b, axis=dim), eps)


def cosine_embedding(a, b, side, margin=0.0):
    c = cosine(a, b)
    return np.where(side > 0, 1 - c, np.maximum(0, c - margin))


def pairwise(a, b, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(a - b + eps, ord=p, axis=-1, keepdims=keepdim)


def triplet(anchor, positive, negative, margin=1.0, p=2.0, swap=False):
    far = pairwise(anchor, negative, p)
    if swap:
        far = np.minimum(far, pairwise(positive, negative, p))
    return np.maximum(0, pairwise(anchor, positive, p) - far + margin)


def multi_margin(x, target, p=1, margin=1.0):
    own = x[np.arange(len(x)), target][:, None]
    terms = np.maximum(0, margin - own + x) ** p
    terms[np.arange(len(x)), target] = 0
    return terms.mean(1)


def multilabel_margin(x, target):
    rows = []
    for scores, labels in zip(x, target):
        right = labels[: np.argmax(labels < 0)] if (labels < 0).any() else labels
        wrong = [k for k in range(len(scores)) if k not in right]
        rows.append(sum(max(0, 1 - (scores[r] - scores[w])) for r in right for w in wrong) / len(scores))
    return np.array(rows)


def minkowski(x, y, p):
    """The norms of the differences of all rows."""
    return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, axis=-1)


CASES = [
    *losses("mse_loss", lambda x, y: (x - y) ** 2, X, Y),
    *losses("l1_loss", lambda x, y: np.abs(x - y), X, Y),
    case("mse_loss", lambda x, y, weight: (weight * (x - y) ** 2).sum() / weight.sum(), X, Y, weight=np.abs(Y)),
    case("l1_loss", lambda x, y, weight: (weight * np.abs(x - y)).sum() / weight.sum(), X, Y, weight=np.abs(Y)),
    *losses("smooth_l1_loss", smooth_l1, X, Y, beta=0.5),
    *losses("huber_loss", huber, X, Y, delta=0.5),
    *losses("binary_cross_entropy", bce, P, T),
    case("binary_cross_entropy", reduced(bce), P, T, WEIGHTS),
    *losses("binary_cross_entropy_with_logits", bce_logits, X, T),
    case("binary_cross_entropy_with_logits", reduced(bce_logits), X, T, WEIGHTS, pos_weight=WEIGHTS * 2),
    *(case("nll_loss", nll, X, CLASSES, reduction=r) for r in ("mean", "sum", "none")),
    case("nll_loss", nll, X, CLASSES, WEIGHTS, smooth=False),
    *losses("kl_div", lambda x, y: y * (np.log(y) - x), X, P),
    *losses("kl_div", lambda x, y, log_target: np.exp(y) * (y - x), X, Y, log_target=True),
    case("kl_div", lambda x, y, reduction: (y * (np.log(y) - x)).sum() / 4, X, P, reduction="batchmean"),
    case("kl_div", lambda x, y, reduction: (y * (np.log(y) - x)).sum(), X[:1], P, reduction="batchmean"),
    *losses("poisson_nll_loss", poisson, X, P * 4, full=True),
    case("poisson_nll_loss", reduced(poisson), P, P * 4, log_input=False),
    *losses("gaussian_nll_loss", gaussian, X, Y, P, full=True),
    *losses("soft_margin_loss", lambda x, y: np.log1p(np.exp(-y * x)), X, SIGNS),
    *losses("margin_ranking_loss", lambda a, b, y, margin: np.maximum(0, -y * (a - b) + margin), X, Y, SIGNS, margin=0.3),
    *losses("hinge_embedding_loss", lambda x, y: np.where(y > 0, x, np.maximum(0, 1 - x)), X, SIGNS),
    *losses("cosine_embedding_loss", cosine_embedding, X, Y, SIDES, margin=0.1),
    *losses("triplet_margin_loss", triplet, X, Y, Z, swap=True),
    *losses("multi_margin_loss", multi_margin, X, np.array([0, 2, 1, 1])),
    case("multi_margin_loss", reduced(multi_margin), X, np.array([0, 2, 1, 1]), 2, 0.5),
    *losses("multilabel_margin_loss", multilabel_margin, X, LABELS),
    *losses("multilabel_soft_margin_loss", lambda x, y: bce_logits(x, y).mean(-1), X, (T > 0.5) * 1.0),
    # Distances.
    case("cosine_similarity", cosine, X, Y),
    case("cosine_similarity", cosine, X, Y, dim=0),
    case("pairwise_distance", pairwise, X, Y),
    case("pairwise_distance", pairwise, X, Y, p=1.0, keepdim=True),
    *(case("cdist", minkowski, X, Y[:2], p) for p in (0.5, 1.0, 2.0, 3.0, np.inf)),
    case("cdist", minkowski, spread(-1, 1, 2, 1, 3, 4), spread(-1, 2, 3, 2, 4), 3.0),
    case("cdist", minkowski, X, Y[:2], 0.0, smooth=False),
    *(
        case("cdist", lambda a, b, compute_mode: distance.cdist(a, b), a, b, compute_mode=mode, half=False)
        for a, b in [(X, Y[:2]), (spread(-1, 1, 30, 3), Y[:2])]
        for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary")
    ),
    case("pdist", lambda x: distance.pdist(x), X),
    *(case("pdist", lambda x, p: minkowski(x, x, p)[np.triu_indices(len(x), 1)], X, p) for p in (0.5, 1.0, 3.0, np.inf)),
    case("pdist", lambda x, p: minkowski(x, x, p)[np.triu_indices(len(x), 1)], X, 0.0, smooth=False),
    case("normalize", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), X),
    case("normalize", lambda x, p, dim: x / np.linalg.norm(x, p, axis=dim, keepdims=True), X, p=1.0, dim=0),
]
