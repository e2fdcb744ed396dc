"""Distances and similarities of vectors."""

from __future__ import annotations

from .. import functional as F
from .module import Module


class PairwiseDistance(Module):
    """`‖x₁ - x₂ + eps‖` in the p-norm over the last dimension."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """`x₁ · x₂ / max(‖x₁‖ ‖x₂‖, eps)` along `dim`."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
