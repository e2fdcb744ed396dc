"""MindSpore's modules of tensors, dtypes and parameters by their other names: `mindspore.common.dtype` and others."""

import sys

from .. import context, dtype, jit, parameter, seeds, tensor
from ..dtype import *  # noqa: F403
from ..jit import jit as jit_function
from ..jit import jit_class as jit_class
from ..jit import mutable as mutable
from ..parameter import Parameter as Parameter
from ..parameter import ParameterTuple as ParameterTuple
from ..seeds import get_seed as get_seed
from ..seeds import set_seed as set_seed
from ..tensor import Tensor as Tensor
from . import initializer as initializer

_MODULES = {"dtype": dtype, "tensor": tensor, "parameter": parameter, "api": jit, "seed": seeds, "context": context}
for _name, _module in _MODULES.items():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _module
api = jit
jit = jit_function
