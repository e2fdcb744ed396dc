"""Losses times a factor, so that float16 keeps small gradients, and gradients divided by it again (Micikevicius et al., "Mixed Precision Training", 2018)."""

from __future__ import annotations

import collections
import enum
import warnings

from .. import _core
from ..autograd.grad_mode import no_grad


class OptState(enum.Enum):
    """How far an optimizer is since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _Optimizer:
    """What is known of an optimizer since the last `update`: how far it is, and whether a gradient was infinite or NaN (None: none was looked at)."""

    def __init__(self):
        self.stage = OptState.READY
        self.found_inf = None


def _need(condition, message):
    if not condition:
        raise AssertionError(message)


class GradScaler:
    """Scales losses, and looks for gradients that overflowed before an optimizer's step.

    A step is left out if a gradient is infinite or NaN, and the scale is then multiplied by `backoff_factor` (< 1); after `growth_interval` updates
    without that it is multiplied by `growth_factor` (> 1). `device` is "cpu" or "cuda"; where there is no GPU, the scaler of "cuda" is disabled, with a
    warning, and gives losses and steps as they are.

    >>> scaler = opforge.amp.GradScaler("cpu")
    >>> weight = opforge.nn.Parameter(opforge.ones(2))
    >>> optimizer = opforge.optim.SGD([weight], lr=0.5)
    >>> scaler.scale((weight * 2).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.tolist()
    [0.0, 0.0]
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        if enabled and device == "cuda" and not _core._cuda_count():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._device, self._enabled = device, enabled
        if not enabled:
            return
        _need(growth_factor > 1.0, "The growth factor must be > 1.0.")
        _need(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale = self._growth_tracker = None
        self._optimizers = collections.defaultdict(_Optimizer)

    def scale(self, outputs):
        """A tensor, or those of an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = _core.full((), self._init_scale, dtype=_core.float32, device="cpu")
            self._growth_tracker = self._init_growth_tracker
        if isinstance(outputs, _core.Tensor):
            return outputs * self._scale.to(outputs.device)
        if not hasattr(outputs, "__iter__") or isinstance(outputs, str):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _need_scale(self, name):
        message = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        _need(self._scale is not None, f"Attempted {name} but _scale is None.  {message}")

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer's parameters by the scale, for example before they are clipped. Once between updates."""
        if not self._enabled:
            return
        self._need_scale("unscale_")
        known = self._optimizers[id(optimizer)]
        if known.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if known.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        known.found_inf = self._unscale(optimizer)
        known.stage = OptState.UNSCALED

    @no_grad()
    def _unscale(self, optimizer):
        """Whether a gradient is infinite or NaN; None if there is no gradient. All are divided by the scale."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is _core.float16 for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        factor = self._scale.double().reciprocal().float()
        are_finite = []
        for grad in grads:
            grad.mul_(factor.to(grad.device))
            are_finite.append(grad.isfinite().all())
        return not bool(_core.stack([finite.cpu() for finite in are_finite]).all()) if are_finite else None

    def step(self, optimizer, *args, **kwargs):
        """`optimizer.step(*args, **kwargs)`, unless a gradient is infinite or NaN; unscales the gradients if nobody has."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        known = self._optimizers[id(optimizer)]
        if known.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if known.stage is OptState.READY:
            self.unscale_(optimizer)
        _need(known.found_inf is not None, "No inf checks were recorded for this optimizer.")
        result = None if known.found_inf else optimizer.step(*args, **kwargs)
        known.stage = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Ends an iteration: the scale grows or shrinks by what the gradients were, or is set to `new_scale`."""
        if not self._enabled:
            return
        self._need_scale("update")
        if new_scale is None:
            self._adjust()
        else:
            self._scale.fill_(_checked(new_scale))
        self._optimizers.clear()

    def _adjust(self):
        found = [known.found_inf for known in self._optimizers.values() if known.found_inf is not None]
        _need(found, "No inf checks were recorded prior to update.")
        if any(found):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = self._scale * self._growth_factor
            self._scale = grown if bool(grown.isfinite()) else self._scale
            self._growth_tracker = 0

    def get_scale(self):
        """The scale, 1 of a disabled scaler."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    def get_growth_factor(self):
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets by what the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """By what the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets by what the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many updates the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets after how many updates the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker

    def state_dict(self):
        """The scale and what it changes by; nothing of a disabled scaler."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            message = "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            raise RuntimeError(message)
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker = self._init_growth_tracker

    def __getstate__(self):
        state = dict(self.__dict__)
        if self._enabled:
            message = "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
            _need(not self._optimizers, message)
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker())
            state.update(_scale=None, _growth_tracker=None)
        return state


def _checked(scale):
    """A scale as a number."""
    if isinstance(scale, _core.Tensor):
        is_number = scale.numel() == 1 and not scale.requires_grad and scale.dtype is _core.float32
        _need(is_number, "new_scale should be a float or a 1-element torch.FloatTensor with requires_grad=False.")
        return scale.item()
    _need(isinstance(scale, float), "new_scale should be a float or a 1-element torch.FloatTensor with requires_grad=False.")
    return scale
