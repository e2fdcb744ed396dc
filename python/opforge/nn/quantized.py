"""Functions as modules, as models that are prepared for quantization write them. There are no quantized kernels: they compute on floats."""

from __future__ import annotations

from .. import _core as _C
from .._absent import absent_names
from .modules.linear import Identity
from .modules.module import Module


class FloatFunctional(Module):
    """Sums, products and the like as methods of a module, where an observer would look at results."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x):
        """Not to be called: the methods are."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _observed(self, result):
        return self.activation_post_process(result)

    def add(self, x, y):
        """`x + y`."""
        return self._observed(_C.add(x, y))

    def add_scalar(self, x, y):
        """`x` plus a number, which is not observed."""
        return _C.add(x, y)

    def mul(self, x, y):
        """`x * y`."""
        return self._observed(_C.mul(x, y))

    def mul_scalar(self, x, y):
        """`x` times a number, which is not observed."""
        return _C.mul(x, y)

    def cat(self, x, dim=0):
        """The tensors of a list, one after the other."""
        return self._observed(_C.cat(x, dim=dim))

    def add_relu(self, x, y):
        """`relu(x + y)`."""
        return self._observed(_C.relu(_C.add(x, y)))

    def matmul(self, x, y):
        """The product of matrices."""
        return self._observed(_C.matmul(x, y))


FXFloatFunctional = FloatFunctional
globals().update(absent_names(__name__, "opforge has no quantized dtypes and kernels", classes="Conv2d Linear QFunctional Quantize DeQuantize"))
