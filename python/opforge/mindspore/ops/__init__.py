"""Operators: as functions (`ops.add`), as objects (`ops.Add()`), and custom ones (`ops.Custom`)."""

from . import function as functional  # noqa: I001
from .function import *  # noqa: F403
from . import composite as composite
from . import op_info_register as op_info_register
from . import operations as operations
from . import primitive as primitive
from .composite import GradOperation as GradOperation
from .composite import get_grad as get_grad
from .composite import grad as grad
from .composite import value_and_grad as value_and_grad
from .mapping import HyperMap as HyperMap
from .mapping import Map as Map
from .mapping import MultitypeFuncGraph as MultitypeFuncGraph
from .mapping import Partial as Partial
from .mapping import clip_by_global_norm as clip_by_global_norm
from .mapping import clip_by_norm as clip_by_norm
from .mapping import print_ as print_
from .operations import *  # noqa: F403
from .primitive import CustomOpBuilder as CustomOpBuilder
from .primitive import _primexpr as _primexpr
from .primitive import constexpr as constexpr
from .register import CustomRegOp as CustomRegOp
from .register import DataType as DataType
from .register import custom_info_register as custom_info_register
