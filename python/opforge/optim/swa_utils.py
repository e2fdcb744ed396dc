"""Averages of a model's weights over training: of equal weight (stochastic weight averaging), or exponential moving ones."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy

from .. import _core as _C
from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler.base import LRScheduler, per_group

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def get_swa_avg_fn():
    """The mean: of the average so far, the new value, and how many values the average has."""

    @no_grad()
    def average(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_ema_avg_fn(decay=0.999):
    """The exponential moving average: `decay * averaged + (1 - decay) * current`."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @no_grad()
    def average(averaged, current, num_averaged):
        return decay * averaged + (1 - decay) * current

    return average


def _multi(average):
    """A function of one tensor for lists of tensors, which it changes."""

    @no_grad()
    def update(averaged, current, num_averaged):
        for old, new in zip(averaged, current):
            old.copy_(average(old, new, num_averaged))

    return update


def get_swa_multi_avg_fn():
    """`get_swa_avg_fn` for lists of tensors, in place."""
    return _multi(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay=0.999):
    """`get_ema_avg_fn` for lists of tensors, in place."""
    return _multi(get_ema_avg_fn(decay))


class AveragedModel(Module):
    """A copy of `model` whose parameters are the average of those given to `update_parameters`, the first of which are taken as they are.

    `avg_fn(averaged, current, num_averaged)` returns the new average of one tensor, `multi_avg_fn` changes lists of them in place; without
    either all models weigh the same. Buffers are averaged with `use_buffers`, otherwise they are the last model's.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return itertools.chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()

    @no_grad()
    def update_parameters(self, model):
        """Takes the parameters of `model` into the average."""
        averaged = [tensor.detach() for tensor in self._averaged(self.module)]
        current = [tensor.detach().to(old.device) for old, tensor in zip(averaged, self._averaged(model))]
        if self.n_averaged == 0:
            for old, new in zip(averaged, current):
                old.copy_(new)
        else:
            update = self.multi_avg_fn or _multi(self.avg_fn or get_swa_avg_fn())
            update(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for old, new in zip(self.module.buffers(), model.buffers()):
                old.copy_(new)
        self.n_averaged += 1


@no_grad()
def update_bn(loader, model, device=None):
    """Computes the running statistics of the model's batch normalizations anew, over all batches of `loader`.

    A batch is the input, or a list or tuple that begins with it.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    model.train()
    try:
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the current rate to `swa_lr` in `anneal_epochs`, along half a cosine ("cos") or a line ("linear"); constant from there."""

    _ANNEAL = {"cos": lambda part: (1 - math.cos(math.pi * part)) / 2, "linear": lambda part: part}

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in self._ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, lr in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _alpha(self, step):
        """The weight of `swa_lr` at a step."""
        return self._ANNEAL[self._anneal_strategy](max(0.0, min(1.0, step / max(1, self.anneal_epochs))))

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, alpha = self._alpha(step - 1), self._alpha(step)
        return [self._towards(group["lr"], group["swa_lr"], before, alpha) for group in self.optimizer.param_groups]

    @staticmethod
    def _towards(lr, swa_lr, before, alpha):
        """The rate of weight `alpha`, from `lr`, which has the weight `before`."""
        start = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
        return swa_lr * alpha + start * (1 - alpha)
