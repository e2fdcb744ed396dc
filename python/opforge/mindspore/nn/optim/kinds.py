"""The optimizers."""

from __future__ import annotations

import math

from ... import ops
from .optimizer import Optimizer


class SGD(Optimizer):
    """`v = momentum * v + (1 - dampening) * g`, at first `g`; then `p -= lr * v`, with `nesterov` `p -= lr * (g + momentum * v)`. Decay is of all parameters."""

    decays_all = True

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov

    def update(self, parameter, gradient, state, rate):
        if not self.momentum:
            return gradient * rate
        before = state.get("velocity")
        velocity = gradient * 1 if before is None else before * self.momentum + gradient * (1 - self.dampening)
        state["velocity"] = velocity
        return (gradient + velocity * self.momentum if self.nesterov else velocity) * rate


class Momentum(Optimizer):
    """`v = momentum * v + g`, then `p -= lr * v`, with `use_nesterov` `p -= lr * (g + momentum * v)`."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum, self.use_nesterov = momentum, use_nesterov

    def update(self, parameter, gradient, state, rate):
        state["velocity"] = velocity = state.get("velocity", 0.0) * self.momentum + gradient
        return (gradient + velocity * self.momentum if self.use_nesterov else velocity) * rate


class Adam(Optimizer):
    """`m` and `v` are running means of `g` and of its square; `p -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)` (Kingma and Ba, 2014)."""

    def __init__(
        self,
        params,
        learning_rate=1e-3,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        use_locking=False,
        use_nesterov=False,
        weight_decay=0.0,
        loss_scale=1.0,
        use_amsgrad=False,
        **options,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2, self.eps, self.use_nesterov, self.use_amsgrad = beta1, beta2, eps, use_nesterov, use_amsgrad

    def update(self, parameter, gradient, state, rate):
        mean, square = _moments(self, gradient, state)
        if self.use_amsgrad:
            state["largest"] = square = ops.maximum(state.get("largest", square), square)
        if self.use_nesterov:
            mean = mean * self.beta1 + gradient * (1 - self.beta1)
        state["step"] = step = state.get("step", 0) + 1
        rate *= math.sqrt(1 - self.beta2**step) / (1 - self.beta1**step)
        return mean / (ops.sqrt(square) + self.eps) * rate


class AdamWeightDecay(Optimizer):
    """`p -= lr * (m / (sqrt(v) + eps) + weight_decay * p)`, where `m` and `v` are running means of `g` and of its square."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps

    def decayed(self, parameter, gradient, decay, state):
        state["decay"] = decay
        return gradient

    def update(self, parameter, gradient, state, rate):
        mean, square = _moments(self, gradient, state)
        return (mean / (ops.sqrt(square) + self.eps) + parameter * state.get("decay", 0.0)) * rate


class RMSProp(Optimizer):
    """`s` is a running mean of squared gradients, less the squared mean if it is `centered`; `v = momentum * v + lr * g / sqrt(s + epsilon)`, then `p -= v`."""

    def __init__(
        self,
        params,
        learning_rate=0.1,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        loss_scale=1.0,
        weight_decay=0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay, self.momentum, self.epsilon, self.centered = decay, momentum, epsilon, centered

    def update(self, parameter, gradient, state, rate):
        start = 0.0 if self.centered else 1.0
        state["square"] = square = state.get("square", start) * self.decay + ops.square(gradient) * (1 - self.decay)
        if self.centered:
            state["mean"] = mean = state.get("mean", 0.0) * self.decay + gradient * (1 - self.decay)
            square = square - ops.square(mean)
        state["velocity"] = velocity = state.get("velocity", 0.0) * self.momentum + gradient * rate / ops.sqrt(square + self.epsilon)
        return velocity


class Adagrad(Optimizer):
    """`s` is `accum` plus the sum of squared gradients; `p -= lr * g / sqrt(s)`."""

    def __init__(self, params, accum=0.1, learning_rate=0.001, update_slots=True, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.accum, self.update_slots = accum, update_slots

    def update(self, parameter, gradient, state, rate):
        before = state.get("sum", self.accum)
        total = before + ops.square(gradient) if self.update_slots else before
        state["sum"] = total
        return gradient * rate / ops.sqrt(total)


def _moments(optimizer, gradient, state):
    """Running means of the gradient and of its square, from 0 on."""
    state["mean"] = mean = state.get("mean", 0.0) * optimizer.beta1 + gradient * (1 - optimizer.beta1)
    state["square"] = square = state.get("square", 0.0) * optimizer.beta2 + ops.square(gradient) * (1 - optimizer.beta2)
    return mean, square
