"""`Optimizer`: what optimizers have in common: groups of parameters, learning rates that change, decay."""

from __future__ import annotations

from ....autograd import no_grad
from ...parameter import Parameter, ParameterTuple
from ...tensor import Base, Tensor
from ..cell import Cell


class Optimizer(Cell):
    """An optimizer. Subclasses define `update(parameter, gradient, state, rate)`, where `state` is a dictionary of the parameter's own.

    `parameters` is a list of Parameters, or of dictionaries of them (`params`) with a learning rate (`lr`) and decay (`weight_decay`) of their own. A learning rate is a
    number, a list or tensor of one for each step, or a cell that is called with the step's number. Gradients are divided by `loss_scale`, then `weight_decay` times
    the parameter is added, except for those with `beta` or `gamma` in their names. Raises `ValueError` if there are no parameters.
    """

    decays_all = False

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        super().__init__(auto_prefix=False)
        groups = [group if isinstance(group, dict) else {"params": [group]} for group in parameters if not _is_order(group)]
        listed, self._rates, self._decays = [], [], []
        for group in groups:
            for parameter in group["params"]:
                listed.append(parameter)
                self._rates.append(_rates(group.get("lr", learning_rate)))
                decay = group.get("weight_decay", weight_decay)
                self._decays.append(decay if self.decays_all or not ("beta" in parameter.name or "gamma" in parameter.name) else 0.0)
        if not listed:
            raise ValueError(f"{type(self).__name__}: there are no parameters (accepted: a list of one at least)")
        self.__dict__["parameters"] = ParameterTuple(listed)
        self.global_step = Parameter(Tensor([0]), name="global_step", requires_grad=False)
        self._loss_scale, self._states, self._step = loss_scale, [{} for _ in listed], 0

    def construct(self, gradients):
        """Changes the parameters by their gradients, in the same order. Raises `ValueError` for another number of them."""
        if len(gradients) != len(self.parameters):
            raise ValueError(f"{type(self).__name__}: {len(gradients)} gradients (accepted: {len(self.parameters)}, one for each parameter)")
        with no_grad():
            for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
                gradient = gradient / self._loss_scale if self._loss_scale != 1.0 else gradient
                if self._decays[i]:
                    gradient = self.decayed(parameter, gradient, self._decays[i], self._states[i])
                Base.sub_(parameter, self.update(parameter, gradient, self._states[i], self._rates[i](self._step)))
        self._step += 1
        Base.fill_(self.global_step, self._step)
        return True

    def decayed(self, parameter, gradient, decay, state):
        """The gradient with the decay."""
        return gradient + parameter * decay

    def update(self, parameter, gradient, state, rate):
        """What is taken from the parameter."""
        raise NotImplementedError(f"{type(self).__name__}: update (accepted: a subclass that defines it)")

    def get_lr(self):
        """The learning rate of the next step; a tuple of one for each parameter if they differ."""
        rates = [Tensor(float(rate(self._step))) for rate in self._rates]
        return rates[0] if len({float(rate) for rate in rates}) == 1 else tuple(rates)


def _is_order(group) -> bool:
    return isinstance(group, dict) and "order_params" in group


def _rates(given):
    """The function from the number of a step to its learning rate; beyond a list, the last one."""
    if isinstance(given, Base) and given.numel() == 1:
        given = float(given)
    if isinstance(given, (int, float)):
        return lambda step: given
    if callable(given) and not isinstance(given, Base):
        return lambda step: float(given(Tensor(step)))
    listed = given.tolist() if isinstance(given, Base) else list(given)
    return lambda step: listed[min(step, len(listed) - 1)]
