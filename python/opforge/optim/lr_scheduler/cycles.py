"""Schedules that go up and down, some with the momentum."""

from __future__ import annotations

import math

from .base import LRScheduler, function_state, per_group, set_lr


class _WithMomentum(LRScheduler):
    """A schedule that, with `cycle_momentum`, moves momentum or Adam's first beta against the rate."""

    def _start_momentum(self, optimizer, base_momentum, max_momentum, last_epoch):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
        self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                group["max_momentum"], group["base_momentum"] = high, low
                self._set_momentum(group, high)

    def _set_momentum(self, group, momentum):
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """From `base_lr` up to `max_lr` and down again (Smith, 2015).

    `mode` scales the height: "triangular" not at all, "triangular2" by half each cycle, "exp_range" by `gamma ** iteration`; or `scale_fn`
    does, of the cycle or of the iteration by `scale_mode`.
    """

    _NOT_SAVED = ("optimizer", "_scale_fn_custom")
    _SCALES = {
        "triangular": ("cycle", lambda self, cycle: 1.0),
        "triangular2": ("cycle", lambda self, cycle: 0.5 ** (cycle - 1)),
        "exp_range": ("iterations", lambda self, iteration: self.gamma**iteration),
    }

    def __init__(
        self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0, scale_fn=None,
        scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1,
    ):  # fmt: skip
        if mode not in self._SCALES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_lr(group, lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        step_size_down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + step_size_down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else self._SCALES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The height of the cycle or iteration `x`, as a part of the whole."""
        return self._SCALES[self.mode][1](self, x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """Everything but the optimizer; of a `scale_fn`, the attributes if it is an object."""
        custom = self._scale_fn_custom
        return {**super().state_dict(), "_scale_fn_custom": None if custom is None else function_state(custom)}

    def load_state_dict(self, state_dict):
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict.get("_scale_fn_custom") is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def _cosine(start, end, part):
    return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))


def _linear(start, end, part):
    return start + (end - start) * part


def _check_count(name, value):
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")


class OneCycleLR(_WithMomentum):
    """From `max_lr / div_factor` up to `max_lr` in the first `pct_start` of all steps, then down to a `final_div_factor`th of the start.

    With `three_phase` the way down is as long as the way up, and the rest goes from the start to the end (Smith and Topin, 2017).
    """

    _ANNEAL = {"cos": _cosine, "linear": _linear}

    def __init__(
        self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos",
        cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
        last_epoch=-1,
    ):  # fmt: skip
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            _check_count("epochs", epochs)
            _check_count("steps_per_epoch", steps_per_epoch)
            total_steps = epochs * steps_per_epoch
        _check_count("total_steps", total_steps)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in self._ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start * total_steps, three_phase)
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, max_lrs):
                start = lr / div_factor
                group.update({"initial_lr": start, "max_lr": lr, "min_lr": start / final_div_factor})
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, rise, three_phase):
        """(last step, rate at the start, at the end, momentum at the start, at the end) of each phase, by keys of the groups."""
        up = (rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        last = self.total_steps - 1
        if not three_phase:
            return [up, (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        down = (2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
        return [up, down, (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase[0]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        part, anneal = (step - start) / (end - start), self._ANNEAL[self._anneal_func_type]
        _, lr_start, lr_end, momentum_start, momentum_end = phase
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, anneal(group[momentum_start], group[momentum_end], part))
        return [anneal(group[lr_start], group[lr_end], part) for group in self.optimizer.param_groups]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` in `T_0` epochs, then again, each `T_mult` times as long (Loshchilov and Hutter, 2016)."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        _check_count("T_0", T_0)
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on to the next epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._restart_at(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lrs(self.get_lr())

    def _restart_at(self, epoch):
        """Finds the run that `epoch` falls in; run n begins at `T_0 * (T_mult**n - 1) / (T_mult - 1)`."""
        if self.T_mult == 1:
            self.T_cur, self.T_i = epoch % self.T_0, self.T_0
            return
        self.T_cur, self.T_i = epoch, self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
