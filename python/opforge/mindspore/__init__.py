"""MindSpore's names over opforge: programs that define custom operators run with their import lines changed.

>>> import opforge.mindspore as ms
>>> from opforge.mindspore import Tensor, nn, ops
>>> print(ops.add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
[4. 6.]

There are tensors, parameters, custom operators and the usual others (`ops`), cells, layers, losses and optimizers (`nn`), gradients, graphs (`jit`),
settings and files of parameters. `mint`, `numpy`, `dataset`, `Model` and others are names only: what is missing is said when they are used.
"""

from . import context as context
from . import dtype as dtype
from . import methods as methods
from . import nn as nn
from . import ops as ops
from .absent import COOTensor as COOTensor
from .absent import CSRTensor as CSRTensor
from .absent import Model as Model
from .absent import export as export
from .absent import load as load
from .checkpoint import load_checkpoint as load_checkpoint
from .checkpoint import load_param_into_net as load_param_into_net
from .checkpoint import save_checkpoint as save_checkpoint
from .context import GRAPH_MODE as GRAPH_MODE
from .context import PYNATIVE_MODE as PYNATIVE_MODE
from .context import ParallelMode as ParallelMode
from .context import get_auto_parallel_context as get_auto_parallel_context
from .context import get_context as get_context
from .context import get_current_device as get_current_device
from .context import reset_auto_parallel_context as reset_auto_parallel_context
from .context import set_auto_parallel_context as set_auto_parallel_context
from .context import set_context as set_context
from .context import set_device as set_device
from .dtype import *  # noqa: F403
from .jit import jit as jit
from .jit import jit_class as jit_class
from .jit import mutable as mutable
from .ops import constexpr as constexpr
from .ops import get_grad as get_grad
from .ops import grad as grad
from .ops import value_and_grad as value_and_grad
from .parameter import Parameter as Parameter
from .parameter import ParameterTuple as ParameterTuple
from .seeds import get_seed as get_seed
from .seeds import set_seed as set_seed
from .tensor import Tensor as Tensor
from .tensor import is_tensor as is_tensor
from .tensor import tensor_of as tensor
from .transforms import jacfwd as jacfwd
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import vjp as vjp
from .transforms import vmap as vmap

from . import common as common  # isort: skip
from . import mint as mint  # isort: skip
from . import numpy as numpy  # isort: skip
from . import train as train  # isort: skip

# The version of MindSpore whose names these are.
__version__ = "2.10.0"
from_numpy = Tensor.from_numpy
ms_class = jit_class
# MindSpore has Python's names for dtypes too.
globals().update({"bool": dtype.bool_, "int": dtype.int32, "float": dtype.float32})
