"""The base class of learning rate schedulers."""

from __future__ import annotations

import types
import warnings
from contextlib import contextmanager

from ... import _core as _C
from ..optimizer import Optimizer


class LRScheduler:
    """Sets the learning rate of every parameter group at each `step`, which is called after the optimizer's.

    A subclass writes `get_lr`: the rates at `last_epoch`, computed from those in the groups where that is possible, so that schedulers can
    be chained; `_get_closed_form_lr` computes them from `base_lrs` alone.
    """

    _is_initial = False
    # What `state_dict` leaves out.
    _NOT_SAVED = ("optimizer",)

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0: "
                    "load the optimizer's state first"
                )
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        with self._initially():
            self.step()

    @contextmanager
    def _initially(self):
        self._is_initial = True
        try:
            yield
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self._NOT_SAVED}

    def load_state_dict(self, state_dict):
        """Takes what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that the last step set, one for each group."""
        return self._last_lr

    def get_lr(self):
        """The rates for `last_epoch`; `step` calls it, others want `get_last_lr`."""
        raise NotImplementedError(f"{type(self).__name__}.get_lr")

    def step(self, epoch=None):
        """Goes on to the next epoch, or to `epoch`."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first value of the schedule is skipped",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = epoch is not None and hasattr(self, "_get_closed_form_lr")
        self._set_lrs(self._get_closed_form_lr() if closed_form else self.get_lr())

    def _set_lrs(self, lrs):
        for group, lr in zip(self.optimizer.param_groups, lrs):
            set_lr(group, lr)
        self._last_lr = self._group_lrs()

    def _group_lrs(self):
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        return [lr * factor for lr in self._group_lrs()]

    def _base_scaled(self, factor):
        return [lr * factor for lr in self.base_lrs]


def copied(lr):
    """A rate that stays as it is when the group's is set: a copy of a tensor."""
    return lr.clone() if isinstance(lr, _C.Tensor) else lr


def set_lr(group, lr):
    """Sets a group's learning rate; a rate that is a tensor stays the same tensor."""
    if isinstance(group["lr"], _C.Tensor):
        group["lr"].fill_(lr)
    else:
        group["lr"] = lr


_LRScheduler = LRScheduler  # its name before it was public


def per_group(name, optimizer, value):
    """A setting given once, or once for each parameter group, as a list of one for each."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"expected {count} values for {name}, got {len(value)}")
    return list(value)


def function_state(function):
    """What is saved of a function: an object's attributes; of a plain function, nothing."""
    return None if isinstance(function, types.FunctionType) else dict(function.__dict__)
