"""Cells around a network: its loss, its gradients, a step of training."""

from __future__ import annotations

from ..ops.composite import GradOperation, value_and_grad
from .cell import Cell

__all__ = ["ForwardValueAndGrad", "TrainOneStepCell", "WithEvalCell", "WithLossCell"]


class WithLossCell(Cell):
    """The loss of a network for data and labels."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data, label):
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self):
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """The loss of a network, its outputs and the labels."""

    def __init__(self, network, loss_fn, add_cast_fp32=False):
        super().__init__(auto_prefix=False)
        self._network, self._loss_fn = network, loss_fn

    def construct(self, data, label):
        outputs = self._network(data)
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """A step of training: the loss that `network` gives, after an optimizer has changed its parameters by the gradients of `sens` times it.

    With `return_grad` the gradients are returned too, by the parameters' names.
    """

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer, self.sens, self.return_grad = network, optimizer, sens, return_grad
        self.weights = self.optimizer.parameters
        self.network.set_train()

    def construct(self, *inputs):
        function = value_and_grad(self.network, None, self.weights, sens_param=self.sens is not None)
        loss, gradients = function(*inputs, *(() if self.sens is None else (self.sens,)))
        self.optimizer(gradients)
        if self.return_grad:
            return loss, dict(zip((weight.name for weight in self.weights), gradients))
        return loss


class ForwardValueAndGrad(Cell):
    """A network's result, and its gradients as `ops.GradOperation` gives them."""

    def __init__(self, network, weights=None, get_all=False, get_by_list=False, sens_param=False):
        super().__init__(auto_prefix=False)
        self.network, self.weights = network, weights
        self._sens_param = sens_param
        self._gradient = GradOperation(get_all, get_by_list, sens_param)

    def construct(self, *inputs):
        value = self.network(*(inputs[:-1] if self._sens_param else inputs))
        return value, self._gradient(self.network, self.weights)(*inputs)
