"""Schedulers made of schedulers."""

from __future__ import annotations

from bisect import bisect_right

from .base import LRScheduler, set_lr
from .plateau import ReduceLROnPlateau


class _Several(LRScheduler):
    """What `SequentialLR` and `ChainedScheduler` share: schedulers of one optimizer."""

    _NOT_SAVED = ("optimizer", "_schedulers")

    def _check(self, optimizer, schedulers):
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support ReduceLROnPlateau, whose step takes a metric, but got one at index {i}")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer; the one at index {i} does not")

    def state_dict(self):
        """The states of the schedulers, under "_schedulers", beside its own."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One scheduler after the other: `schedulers[i]` until epoch `milestones[i]`, each from its own beginning."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"Sequential Schedulers expects one milestone less than schedulers ({len(schedulers)}), got {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler set the rates when it was made: the first begins again, the others wait.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        self._undo(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _undo(self, scheduler):
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self._undo(part)
        else:
            scheduler.last_epoch -= 1

    def step(self):
        """Steps the scheduler whose turn it is."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Several schedulers at once: each step is a step of all of them, in order."""

    def __init__(self, schedulers, optimizer=None):
        optimizer = optimizer or (schedulers[0].optimizer if schedulers else None)
        self._check(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._group_lrs()

    def step(self):
        """Steps all schedulers."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._group_lrs()
