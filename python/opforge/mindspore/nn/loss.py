"""Losses."""

from __future__ import annotations

from ... import _core
from .. import ops
from ..ops.function.nn_func import classes
from .cell import Cell
from .configured import configured

_REDUCTIONS = ("mean", "sum", "none")


class LossBase(Cell):
    """A loss: subclasses compute one for each element in `construct`, and return `self.get_loss` of these: their mean, their sum, or themselves."""

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"{type(self).__name__}: reduction is {reduction!r} (accepted: {', '.join(map(repr, _REDUCTIONS))})")
        self.reduction = reduction

    def get_axis(self, x):
        """All axes of a tensor."""
        return tuple(range(x.ndim))

    def get_loss(self, x, weights=1.0):
        """The mean of `weights * x`, its sum, or itself, as `reduction` says."""
        x = x * weights
        return x.mean() if self.reduction == "mean" else x.sum() if self.reduction == "sum" else x


class MSELoss(LossBase):
    """The squared difference."""

    def construct(self, logits, labels):
        return self.get_loss(ops.square(logits - labels))


class L1Loss(LossBase):
    """The absolute difference."""

    def construct(self, logits, labels):
        return self.get_loss(ops.abs(logits - labels))


MAELoss = L1Loss


class RMSELoss(LossBase):
    """The square root of the mean of squared differences."""

    def __init__(self):
        super().__init__()

    def construct(self, logits, labels):
        return ops.sqrt(self.get_loss(ops.square(logits - labels)))


class SoftmaxCrossEntropyWithLogits(LossBase):
    """The cross-entropy of rows of logits with rows of probabilities, or with numbers of classes if it is `sparse`."""

    def __init__(self, sparse=False, reduction="none"):
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits, labels):
        if self.sparse:
            return ops.cross_entropy(logits, classes(labels), reduction=self.reduction)
        return self.get_loss((-labels * ops.log_softmax(logits, -1)).sum(-1))


_nn = _core.nn
_CELLS = {
    "BCELoss": lambda logits, labels, *, weight=None, reduction="mean": ops.binary_cross_entropy(logits, labels, weight, reduction),
    "BCEWithLogitsLoss": lambda logits, labels, *, reduction="mean", weight=None, pos_weight=None: ops.binary_cross_entropy_with_logits(
        logits, labels, weight, pos_weight, reduction
    ),
    "CrossEntropyLoss": lambda logits, labels, *, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0: ops.cross_entropy(
        logits, labels, weight, ignore_index, reduction, label_smoothing
    ),
    "HuberLoss": lambda logits, labels, *, reduction="mean", delta=1.0: _nn.huber_loss(logits, labels, reduction, delta),
    "KLDivLoss": lambda logits, labels, *, reduction="mean": ops.kl_div(logits, labels, reduction),
    "NLLLoss": lambda logits, labels, *, weight=None, ignore_index=-100, reduction="mean": ops.nll_loss(logits, labels, weight, ignore_index, reduction),
    "SmoothL1Loss": lambda logits, labels, *, beta=1.0, reduction="none": ops.smooth_l1_loss(logits, labels, beta, reduction),
}
globals().update(configured(_CELLS, __name__))
__all__ = ["L1Loss", "LossBase", "MAELoss", "MSELoss", "RMSELoss", "SoftmaxCrossEntropyWithLogits", *_CELLS]
