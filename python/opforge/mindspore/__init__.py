"""MindSpore's names over opforge: programs that define custom operators run with their import lines changed.

>>> import opforge.mindspore as ms
>>> from opforge.mindspore import Tensor, nn, ops
>>> print(ops.add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
[4. 6.]
"""

from . import context as context
from . import dtype as dtype
from . import nn as nn
from . import ops as ops
from .context import GRAPH_MODE as GRAPH_MODE
from .context import PYNATIVE_MODE as PYNATIVE_MODE
from .context import get_context as get_context
from .context import get_current_device as get_current_device
from .context import set_context as set_context
from .context import set_device as set_device
from .dtype import *  # noqa: F403
from .jit import jit as jit
from .ops import grad as grad
from .ops import value_and_grad as value_and_grad
from .parameter import Parameter as Parameter
from .parameter import ParameterTuple as ParameterTuple
from .tensor import Tensor as Tensor


def tensor(input_data=None, dtype=None):
    """See `Tensor`."""
    return Tensor(input_data, dtype)


from_numpy = Tensor.from_numpy
