"""Activations."""

from __future__ import annotations

from .... import _core
from ... import ops
from ...common.initializer import initializer
from ...parameter import Parameter
from ..cell import Cell
from ..configured import configured

_CELLS = {
    "CELU": lambda x, *, alpha=1.0: ops.celu(x, alpha),
    "ELU": lambda input_x, *, alpha=1.0: ops.elu(input_x, alpha),
    "FastGelu": lambda x: ops.fast_gelu(x),
    "GELU": lambda x, *, approximate=True: ops.gelu(x, "tanh" if approximate else "none"),
    "GLU": lambda x, *, axis=-1: ops.glu(x, axis),
    "HSigmoid": lambda input_x: ops.hardsigmoid(input_x),
    "HSwish": lambda x: ops.hardswish(x),
    "Hardtanh": lambda x, *, min_val=-1.0, max_val=1.0: ops.hardtanh(x, min_val, max_val),
    "LeakyReLU": lambda x, *, alpha=0.2: ops.leaky_relu(x, alpha),
    "LogSigmoid": lambda x: ops.logsigmoid(x),
    "LogSoftmax": lambda x, *, axis=-1: ops.log_softmax(x, axis),
    "Mish": lambda x: ops.mish(x),
    "ReLU": lambda x: ops.relu(x),
    "ReLU6": lambda x: ops.relu6(x),
    "SeLU": lambda x: ops.selu(x),
    "SiLU": lambda x: ops.silu(x),
    "Sigmoid": lambda x: ops.sigmoid(x),
    "SoftShrink": lambda x, *, lambd=0.5: _core.nn.softshrink(x, lambd),
    "Softmax": lambda x, *, axis=-1: ops.softmax(x, axis),
    "Softmax2d": lambda x: ops.softmax(x, -3),
    "Softmin": lambda x, *, axis=-1: ops.softmin(x, axis),
    "Softsign": lambda x: ops.softsign(x),
    "Tanh": lambda x: ops.tanh(x),
    "Tanhshrink": lambda x: ops.tanhshrink(x),
    "Threshold": lambda x, *, threshold=0.0, value=0.0: ops.threshold(x, threshold, value),
}
globals().update(configured(_CELLS, __name__))
__all__ = [*_CELLS, "PReLU", "get_activation"]


class PReLU(Cell):
    """`x` where it is positive, else `x * w`, with a `w` for each of `channel` channels that is trained."""

    def __init__(self, channel=1, w=0.25):
        super().__init__()
        self.w = Parameter(initializer(w, [channel]), name="a")

    def construct(self, x):
        return ops.prelu(x, self.w)


_OF_NAME = {
    "elu": "ELU",
    "fast_gelu": "FastGelu",
    "gelu": "GELU",
    "hsigmoid": "HSigmoid",
    "hswish": "HSwish",
    "leakyrelu": "LeakyReLU",
    "logsigmoid": "LogSigmoid",
    "logsoftmax": "LogSoftmax",
    "prelu": "PReLU",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "sigmoid": "Sigmoid",
    "softmax": "Softmax",
    "tanh": "Tanh",
}


def get_activation(name, prim_name=None):
    """An activation by its name, such as `"relu"`; None for None. Raises `KeyError` for another name."""
    if name is None:
        return None
    if name not in _OF_NAME:
        raise KeyError(f"get_activation: there is no {name!r} (accepted: {', '.join(_OF_NAME)})")
    return globals()[_OF_NAME[name]]()
