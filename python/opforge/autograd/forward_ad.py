"""Dual numbers: tensors with a tangent, by which derivatives in a direction go forward with what is computed.

A tensor carries no tangent of its own here. A dual tensor is recorded as one that needs a gradient by a seed of its own, and the tangent of what was computed
from it is the derivative of its product with a cotangent, by the cotangent, which costs about two gradients (`torch.func.jvp` does the same). So dual tensors
need gradients, and what is computed of them under `no_grad` has no tangent.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

from .. import _core
from ._forward import transposing
from ._leaves import leaf_node, leaf_nodes
from .functional import _gradients, _transposed
from .grad_mode import enable_grad, inference_mode

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None if it has none."""

    primal: object
    tangent: object


class _Level:
    """The seeds of the dual tensors that were made, each with its tangent, and the tangents that are known."""

    def __init__(self):
        self.seeds, self.tangents, self.nodes = [], [], set()
        self._known = {}  # by the tensor's id: the tensor, its version, its tangent

    def add(self, seed, tangent):
        self.seeds.append(seed)
        self.tangents.append(tangent)
        self.nodes.add(leaf_node(seed))

    def remember(self, tensor, tangent):
        self._known[id(tensor)] = tensor, tensor._version, tangent
        return tangent

    def known(self, tensor):
        """The tangent of a tensor that has not changed since it was remembered."""
        _, version, tangent = self._known.get(id(tensor), (None, None, None))
        return tangent if version == tensor._version else None


_level: _Level | None = None


def make_dual(tensor, tangent, *, level=None):
    """A tensor of the same memory whose tangent is `tangent`, a tensor of the same shape. It is a dual tensor until the level is left.

    Raises RuntimeError outside of a level, for another shape, and for a tensor that has a tangent already; ValueError for numbers that have no derivatives.

    >>> with dual_level():
    ...     y = make_dual(opforge.tensor(3.0), opforge.tensor(2.0)) ** 2
    ...     unpack_dual(y).tangent.item()
    12.0
    """
    if _level is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if _leads_to_seed(tensor):
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.")
    with inference_mode(False), enable_grad():
        seed = tensor.detach().requires_grad_()
        sources = [seed, tensor] if tensor.requires_grad else [seed]
        (dual,) = _core.record_function("MakeDual", sources, [tensor.detach()], [True], lambda grads, _: grads * len(sources))
    _level.add(seed, tangent)
    _level.remember(dual, tangent)
    return dual


def unpack_dual(tensor, *, level=None):
    """A tensor's primal and its tangent, `(primal, tangent)`; the tangent is None for what was computed from no dual tensor, and outside of a level.

    Both have a history if more than dual tensors led to them, or to the tangents that were given.
    """
    if _level is None or not _leads_to_seed(tensor):
        return UnpackedDualTensor(tensor, None)
    depends_on_more = any(node not in _level.nodes for node in leaf_nodes([tensor]))
    tangent = _level.known(tensor)
    if tangent is None:
        tangent = _level.remember(tensor, _tangent(tensor, depends_on_more))
    return UnpackedDualTensor(tensor if depends_on_more else tensor.detach(), tangent)


def _leads_to_seed(tensor):
    return any(node in _level.nodes for node in leaf_nodes([tensor]))


def _tangent(tensor, depends_on_more):
    directions = [tangent.to(seed.dtype) for seed, tangent in zip(_level.seeds, _level.tangents)]
    recorded = _core.is_grad_enabled() and (depends_on_more or any(direction.requires_grad for direction in directions))
    with inference_mode(False):
        with enable_grad(), transposing():
            cotangents, back = _transposed([tensor], _level.seeds)
        (tangent,) = _gradients(back, cotangents, directions, recorded, False)
    return tangent


def enter_dual_level():
    """Enters a level, in which dual tensors can be made; gives its number. Levels do not nest."""
    global _level
    if _level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level = _Level()
    return 0


def exit_dual_level(*, level=None):
    """Leaves the level: no tensor is dual any more."""
    global _level
    if _level is None:
        raise RuntimeError("Trying to exit a forward AD level but no level was entered")
    _level = None


@contextmanager
def dual_level():
    """A block in which dual tensors can be made. Blocks do not nest."""
    number = enter_dual_level()
    try:
        yield number
    finally:
        exit_dual_level(level=number)
