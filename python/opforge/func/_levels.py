"""A function while it is differentiated, which is a level of a nest of transformations.

A derivative is taken by variables of its level's own: views of the arguments, if somebody else differentiates by those, or else copies that nobody else sees.
Levels inside of it have variables too, and what they gave may have been computed from these, which nobody differentiates by any more once the level has
ended. So a result keeps its history only if that leads to a leaf of somebody else: of a level around, or of the program.
"""

from __future__ import annotations

import threading

from .. import _core
from ..autograd._forward import transposing
from ..autograd._leaves import leaf_node, leaf_nodes
from ..autograd.functional import _gradients, _transposed
from ..autograd.grad_mode import inference_mode
from ._trees import leaves, like


class _Thread(threading.local):
    """The level whose function this thread is in, the innermost."""

    level = None


_thread = _Thread()


def is_inside() -> bool:
    """Whether this thread is in a function that is differentiated."""
    return _thread.level is not None


class Evaluated:
    """A function's result for variables in the place of some arguments.

    `variables` are the tensors to differentiate by, `result` is what the function gave. `is_recorded` says whether derivatives are to be differentiable: if
    the result depends on more than the variables, or if one of `directions` needs a gradient. Inference mode ends for the function, as in PyTorch.
    """

    def __init__(self, function, tensors, directions=()):
        recording = _core.is_grad_enabled()
        self._own = set()  # the nodes of leaves of this level and of those that were inside of it
        around, _thread.level = _thread.level, self
        try:
            with inference_mode(False):
                self.variables = [self._variable(tensor, recording) for tensor in tensors]
                self.result = function(self.variables)
        finally:
            _thread.level = around
        self._depends_on_more = recording and self._leads_outside(leaves(self.result))
        self.is_recorded = self._depends_on_more or recording and any(tensor.requires_grad for tensor in directions)

    def _variable(self, tensor, recording):
        if recording and tensor.requires_grad:
            return tensor.view_as(tensor)
        variable = tensor.detach().requires_grad_()
        self._own.add(leaf_node(variable))
        return variable

    def _leads_outside(self, values):
        return any(node not in self._own for node in leaf_nodes([value for value in values if isinstance(value, _core.Tensor)]))

    def _released(self, value):
        if not isinstance(value, _core.Tensor) or not value.requires_grad:
            return value
        if not self._leads_outside([value]):
            return value.detach()
        if _thread.level is not None:
            _thread.level._own |= self._own
        return value

    def released(self, tree):
        """Results, or derivatives, without the history that nobody else needs."""
        return like(tree, [self._released(leaf) for leaf in leaves(tree)])

    def gradients(self, outputs, seeds=None, recorded=None):
        """The gradients of the outputs by the variables; `recorded` says whether they are differentiable, if not as `is_recorded` has it."""
        with inference_mode(False):
            found = _gradients(outputs, self.variables, seeds, self.is_recorded if recorded is None else recorded, False)
        return [self._released(gradient) for gradient in found]

    def transposed(self, outputs):
        """Cotangents of the outputs, zeros, and the variables' gradients as linear functions of them, whose gradients are derivatives in the direction of
        what they are seeded with. They may be differentiated by the cotangents only."""
        with inference_mode(False), transposing():
            cotangents, back = _transposed(outputs, self.variables)
        self._own.update(leaf_node(cotangent) for cotangent in cotangents if cotangent.requires_grad)
        return cotangents, back

    def push_forward(self, transposed, tangents):
        """The outputs' derivatives in the direction of the tangents, for what `transposed` gave."""
        cotangents, back = transposed
        recorded = self.is_recorded or _core.is_grad_enabled() and any(tangent.requires_grad for tangent in tangents)
        with inference_mode(False):
            found = _gradients(back, cotangents, tangents, recorded, False)
        return [self._released(tangent) for tangent in found]
