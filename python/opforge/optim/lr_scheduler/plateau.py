"""A schedule by a metric."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .base import LRScheduler, per_group, set_lr


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when the metric has not improved for more than `patience` epochs.

    Better is smaller or, with `mode="max"`, larger, by `threshold` of the best ("rel") or by itself ("abs"). Epochs of a `cooldown` after a
    reduction do not count.
    """

    def __init__(
        self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._group_lrs()
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether bad epochs do not count yet."""
        return self.cooldown_counter > 0

    def _is_better(self, metric):
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * metric < sign * self.best * (1 - sign * self.threshold)
        return sign * metric < sign * self.best - self.threshold

    def step(self, metrics, epoch=None):
        """Takes the epoch's metric, a number or a tensor of one."""
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._group_lrs()

    def _reduce(self):
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            reduced = max(group["lr"] * self.factor, low)
            if group["lr"] - reduced > self.eps:
                set_lr(group, reduced)
