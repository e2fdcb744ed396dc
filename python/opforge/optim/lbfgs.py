"""L-BFGS."""

from __future__ import annotations

from .. import _core as _C
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, check_range


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, 1989), of one group of parameters; `step` needs a closure that computes loss and gradients.

    `line_search_fn` is None (steps of `lr`) or "strong_wolfe".
    """

    def __init__(
        self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
        line_search_fn=None, *, maximize=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    @property
    def _sign(self):
        """What the objective is multiplied by before it is minimized."""
        return -1 if self.param_groups[0].get("maximize") else 1

    def _flat_grad(self):
        return self._sign * _C.cat([(_C.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._params])

    def _move(self, t, direction):
        """Adds `t * direction` to the parameters."""
        sizes = [param.numel() for param in self._params]
        for param, part in zip(self._params, direction.split(sizes)):
            param.add_(part.view_as(param), alpha=float(t))

    def _evaluate(self, closure):
        with enable_grad():
            loss = float(closure())
        return self._sign * loss, self._flat_grad()

    def _evaluate_at(self, closure, start, t, direction):
        """Loss and gradient at `start + t * direction`; the parameters come back to `start`."""
        self._move(t, direction)
        result = self._evaluate(closure)
        for param, value in zip(self._params, start):
            param.copy_(value)
        return result

    def step(self, closure):
        """Up to `max_iter` iterations; returns the loss before them."""
        with no_grad():
            return self._minimize(closure)

    def _minimize(self, closure):
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first_loss = closure()
        loss, grad = self._sign * float(first_loss), self._flat_grad()
        evals, change = 1, group["tolerance_change"]
        state["func_evals"] += 1
        for iteration in range(1, group["max_iter"] + 1):
            if float(grad.abs().max()) <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            previous_loss, state["prev_flat_grad"] = loss, grad.clone()
            slope = float(grad.dot(direction))
            t = float(group["lr"]) * (min(1.0, 1.0 / float(grad.abs().sum())) if state["n_iter"] == 1 else 1.0)
            state["d"], state["t"] = direction, t
            if slope > -change:
                break
            if group["line_search_fn"]:
                start = [param.clone() for param in self._params]
                loss, grad, t, spent = strong_wolfe(
                    lambda t: self._evaluate_at(closure, start, t, direction),
                    direction, t, loss, grad, slope, tolerance_change=change, max_ls=group["max_eval"] - evals,
                )  # fmt: skip
                self._move(t, direction)
                state["t"] = t
            else:
                self._move(t, direction)
                spent = int(iteration != group["max_iter"])
                if spent:
                    loss, grad = self._evaluate(closure)
            evals += spent
            state["func_evals"] += spent
            stuck = float(direction.abs().max()) * t <= change or abs(loss - previous_loss) < change
            if evals >= group["max_eval"] or stuck:
                break
        return first_loss

    def _direction(self, state, grad, history_size):
        """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion over the last steps and changes."""
        if state["n_iter"] == 1:
            state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0})
            return grad.neg()
        change, step = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        curvature = float(change.dot(step))
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if curvature > 1e-10:
            for history, new in (changes, change), (steps, step), (ro, 1.0 / curvature):
                history.append(new)
                del history[: max(0, len(history) - history_size)]
            state["H_diag"] = curvature / float(change.dot(change))
        direction, alphas = grad.neg(), []
        for y, s, rho in zip(reversed(changes), reversed(steps), reversed(ro)):
            alphas.append(float(s.dot(direction)) * rho)
            direction.add_(y, alpha=-alphas[-1])
        direction.mul_(state["H_diag"])
        for y, s, rho, alpha in zip(changes, steps, ro, reversed(alphas)):
            direction.add_(s, alpha=alpha - float(y.dot(direction)) * rho)
        return direction


def cubic_minimum(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with these values and slopes is smallest, within `bounds` (the points, unless given).

    Nocedal and Wright, Numerical Optimization, equation 3.59.
    """
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    d2 = square**0.5
    if x1 <= x2:
        x = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        x = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(x, low), high)


class _Point:
    """A step length with the loss, the gradient and the slope along the direction there."""

    def __init__(self, t, loss, grad, slope):
        self.t, self.loss, self.grad, self.slope = t, loss, grad, slope


def strong_wolfe(evaluate, d, t, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step length that meets the strong Wolfe conditions: (loss, gradient, step length, evaluations).

    Brackets, then zooms (Nocedal and Wright, algorithms 3.5 and 3.6). `evaluate(t)` gives loss and gradient; `f`, `g` and `gtd` are loss,
    gradient and slope at 0.
    """

    def at(t):
        loss, grad = evaluate(t)
        return _Point(t, loss, grad, float(grad.dot(d)))

    def too_high(point):
        return point.loss > f + c1 * point.t * gtd

    def flat(point):
        return abs(point.slope) <= -c2 * gtd

    start = previous = _Point(0.0, f, g, gtd)
    new, iterations, done = at(t), 0, False
    bracket = [start, new]
    while iterations < max_ls:
        if too_high(new) or (iterations > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if flat(new):
            bracket, done = [new, new], True
            break
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = new.t + 0.01 * (new.t - previous.t), new.t * 10
        t = cubic_minimum(previous.t, previous.loss, previous.slope, new.t, new.loss, new.slope, bounds)
        previous, new = new, at(t)
        iterations += 1
        bracket = [start, new]

    low, high = sorted(bracket, key=lambda point: point.loss)
    width, crowded = float(d.abs().max()), False
    while not done and iterations < max_ls and abs(high.t - low.t) * width >= tolerance_change:
        a, b = bracket
        t = cubic_minimum(a.t, a.loss, a.slope, b.t, b.loss, b.slope)
        t, crowded = _kept_inside(t, min(a.t, b.t), max(a.t, b.t), crowded)
        new = at(t)
        iterations += 1
        if too_high(new) or new.loss >= low.loss:
            bracket[bracket.index(high)] = high = new
            low, high = sorted(bracket, key=lambda point: point.loss)
            continue
        done = flat(new)
        if not done and new.slope * (high.t - low.t) >= 0:
            bracket[bracket.index(high)] = high = low
        bracket[bracket.index(low)] = low = new
    return low.loss, low.grad, low.t, iterations + 1


def _kept_inside(t, low, high, crowded):
    """`t`, or a tenth off the end it keeps close to; and whether it is close to one without having been moved."""
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if crowded or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
