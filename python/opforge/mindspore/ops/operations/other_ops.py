"""Operators of gradients and printing, and those that draw numbers."""

from __future__ import annotations

from ...bprop import call_with_bprop
from .. import function
from ..primitive import Primitive
from .configured import configured


class InsertGradientOf(Primitive):
    """What it is called with, whose gradient goes through `f` on its way back.

    >>> doubled = InsertGradientOf(lambda gradient: gradient * 2)
    >>> print(grad(lambda x: doubled(x) * 3)(Tensor([1.0])))
    [6.]
    """

    def __init__(self, f):
        super().__init__()
        if not callable(f):
            raise TypeError(f"{self.name}: f is a {type(f).__name__} (accepted: a function of a gradient)")
        self.f = f

    def __call__(self, x):
        return call_with_bprop(self.name, lambda x: x, lambda x, out, dout: (self._changed(dout),), (x,))

    def _changed(self, gradient):
        return self.f(gradient)


class HookBackward(InsertGradientOf):
    """What it is called with, whose gradient `hook_fn` gets, a tuple of one; what that returns, unless None, takes its place.

    >>> hook = HookBackward(lambda gradient: print(gradient[0]))
    >>> print(grad(lambda x: hook(x) * 3)(Tensor([1.0])))
    [3.]
    [3.]
    """

    def __init__(self, hook_fn, cell_id=""):
        super().__init__(hook_fn)

    def _changed(self, gradient):
        found = self.f((gradient,))
        found = found[0] if isinstance(found, tuple) else found
        return gradient if found is None else found


class Print(Primitive):
    """Prints what it is called with."""

    def __call__(self, *args):
        print(*args, sep="\n")


_OPERATORS = {
    "StandardNormal": lambda shape, *, seed=0, seed2=0: function.standard_normal(shape, seed or None),
    "UniformInt": lambda shape, minval, maxval, *, seed=0, seed2=0: function.randint(minval, maxval, shape, seed or None).int(),
    "UniformReal": lambda shape, *, seed=0, seed2=0: function.uniform(shape, 0.0, 1.0, seed or None),
}
globals().update(configured(_OPERATORS, __name__))
__all__ = ["HookBackward", "InsertGradientOf", "Print", *_OPERATORS]
