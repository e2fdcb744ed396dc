"""How parameters begin: `initializer`, and the distributions that it knows by name."""

from __future__ import annotations

import math

from ... import _core
from ...nn import init as _init
from ..dtype import float32, to_core
from ..tensor import Base, Tensor, adopt


class Initializer:
    """What fills a tensor: a subclass does so in `_initialize(tensor)`, in place.

    >>> print(Constant(0.5).tensor([2], mindspore.float32))
    [0.5 0.5]
    """

    def __init__(self, **options):
        self.__dict__.update(options)

    def tensor(self, shape, dtype):
        """A new tensor with that shape (a number or several) and dtype."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        made = _core.zeros(shape, dtype=_core.float32)
        self._initialize(made)
        return adopt(made.to(to_core(dtype)))

    def _initialize(self, tensor):
        raise NotImplementedError(f"{type(self).__name__}: _initialize (accepted: a subclass that defines it)")


class Constant(Initializer):
    """A number everywhere."""

    def __init__(self, value):
        super().__init__(value=value)

    def _initialize(self, tensor):
        Base.copy_(tensor, _core.tensor(self.value).to(tensor.dtype)) if hasattr(self.value, "shape") else Base.fill_(tensor, self.value)


class Zero(Constant):
    """0 everywhere."""

    def __init__(self):
        super().__init__(0.0)


class One(Constant):
    """1 everywhere."""

    def __init__(self):
        super().__init__(1.0)


class Normal(Initializer):
    """A normal distribution with a standard deviation and a mean."""

    def __init__(self, sigma=0.01, mean=0.0):
        super().__init__(sigma=sigma, mean=mean)

    def _initialize(self, tensor):
        _init.normal_(tensor, self.mean, self.sigma)


class TruncatedNormal(Initializer):
    """A normal distribution, without what is further from the mean than `a` and `b` standard deviations."""

    def __init__(self, sigma=0.01, mean=0.0, a=-2.0, b=2.0):
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)

    def _initialize(self, tensor):
        _init.trunc_normal_(tensor, self.mean, self.sigma, self.mean + self.a * self.sigma, self.mean + self.b * self.sigma)


class Uniform(Initializer):
    """Numbers between `-scale` and `scale`."""

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)

    def _initialize(self, tensor):
        _init.uniform_(tensor, -self.scale, self.scale)


class XavierUniform(Initializer):
    """Numbers up to `gain * sqrt(6 / (n_in + n_out))` in absolute value."""

    def __init__(self, gain=1):
        super().__init__(gain=gain)

    def _initialize(self, tensor):
        _init.xavier_uniform_(tensor, self.gain)


class XavierNormal(Initializer):
    """A normal distribution of standard deviation `gain * sqrt(2 / (n_in + n_out))`."""

    def __init__(self, gain=1):
        super().__init__(gain=gain)

    def _initialize(self, tensor):
        _init.xavier_normal_(tensor, self.gain)


class HeUniform(Initializer):
    """Numbers up to `gain * sqrt(3 / n)` in absolute value, `n` inputs or outputs (`mode`), the gain that of a nonlinearity."""

    def __init__(self, negative_slope=0, mode="fan_in", nonlinearity="leaky_relu"):
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)

    def _initialize(self, tensor):
        _init.kaiming_uniform_(tensor, self.negative_slope, self.mode, self.nonlinearity)


class HeNormal(HeUniform):
    """A normal distribution of standard deviation `gain / sqrt(n)`; the arguments are those of `HeUniform`."""

    def _initialize(self, tensor):
        _init.kaiming_normal_(tensor, self.negative_slope, self.mode, self.nonlinearity)


class Orthogonal(Initializer):
    """An orthogonal matrix times `gain`."""

    def __init__(self, gain=1.0):
        super().__init__(gain=gain)

    def _initialize(self, tensor):
        _init.orthogonal_(tensor, self.gain)


class Identity(Initializer):
    """The identity matrix."""

    def _initialize(self, tensor):
        _init.eye_(tensor)


_OF_NAME = {
    "zeros": Zero,
    "ones": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "xavier_uniform": XavierUniform,
    "xavier_normal": XavierNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "orthogonal": Orthogonal,
    "identity": Identity,
}
_OF_NAME |= {"zero": Zero, "one": One, "xavieruniform": XavierUniform, "heuniform": HeUniform, "henormal": HeNormal}


def initializer(init, shape=None, dtype=float32):
    """A tensor that an `Initializer`, its name, a number or a tensor fills. Raises `ValueError` for another name.

    >>> print(initializer("ones", [2]))
    [1. 1.]
    """
    if isinstance(init, Base):
        if shape is not None and tuple(shape) != tuple(init.shape):
            raise ValueError(f"initializer: shape {tuple(shape)} (accepted: {tuple(init.shape)}, the tensor's)")
        return Tensor(init, dtype)
    if isinstance(init, str):
        if init.lower() not in _OF_NAME:
            raise ValueError(f"initializer: there is no {init!r} (accepted: {', '.join(_OF_NAME)})")
        init = _OF_NAME[init.lower()]()
    made = Constant(init) if isinstance(init, (int, float)) else init
    return made.tensor(() if shape is None else shape, dtype)


def scaled_uniform(fan_in):
    """Numbers up to `1 / sqrt(fan_in)` in absolute value: how layers' biases, and weights, begin."""
    return Uniform(1 / math.sqrt(fan_in) if fan_in else 0.0)
