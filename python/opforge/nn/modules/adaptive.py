"""Softmax over many classes."""

from __future__ import annotations

from typing import NamedTuple

from ... import _core as _C
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _Losses(NamedTuple):
    output: _C.Tensor
    loss: _C.Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithms of softmax where few of many classes are frequent (Grave et al., "Efficient softmax approximation for GPUs", 2017).

    Classes are in the order of their frequency. Those before `cutoffs[0]` are in the head, those up to each next cutoff, the last of which is
    `n_classes`, in a cluster, whose projection is `div_value` times narrower than the one before. `(N, in_features)` or `(in_features)`, and a
    target of `(N)` or a number, give the target's logarithm, and the mean of what it lacks.

    >>> loss = opforge.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
    >>> loss(opforge.randn(3, 8), opforge.tensor([0, 5, 19])).output.shape
    torch.Size([3])
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all(int(c) == c for c in cutoffs)
        if not whole or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(f"cutoffs should be unique, increasing integers from 1 to n_classes - 1, not {cutoffs}")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (i + 1))
            narrow, wide = Linear(in_features, width, bias=False, **place), Linear(width, high - low, bias=False, **place)
            self.tail.append(Sequential(narrow, wide))

    def _clusters(self):
        """The first class of each cluster, and the one after its last."""
        return zip(self.cutoffs, self.cutoffs[1:])

    def reset_parameters(self):
        """Draws all weights anew."""
        for linear in [self.head, *(linear for cluster in self.tail for linear in cluster)]:
            linear.reset_parameters()

    def forward(self, input, target):
        if input.dim() != target.dim() + 1 or input.dim() not in (1, 2) or input.shape[:-1] != target.shape:
            raise RuntimeError(f"expected inputs (N, in_features) and targets (N), not {input.shape} and {target.shape}")
        rows, classes = (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.unsqueeze(0))
        if classes.numel() and not 0 <= classes.min().item() <= classes.max().item() < self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}]")
        cluster = sum((classes >= cutoff).long() for cutoff in self.cutoffs[:-1])
        in_head = _C.where(cluster == 0, classes, cluster + (self.shortlist_size - 1))
        output = F.log_softmax(self.head(rows), 1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        for i, (low, _) in enumerate(self._clusters()):
            members = (cluster == i + 1).nonzero().flatten()
            if members.numel():
                among = F.log_softmax(self.tail[i](rows.index_select(0, members)), 1)
                chosen = among.gather(1, (classes.index_select(0, members) - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, members, chosen)
        output = output if input.dim() == 2 else output.squeeze(0)
        return _Losses(output, -output.mean())

    def log_prob(self, input):
        """The logarithms of all classes' probabilities: `(N, n_classes)`."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            place = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), 1) + head[:, place : place + 1])
        return _C.cat(parts, 1)

    def predict(self, input):
        """The most likely class of each row: that of the head, if it is the likeliest there."""
        best = self.head(input).argmax(1)
        return _C.where(best < self.shortlist_size, best, self.log_prob(input).argmax(1))
