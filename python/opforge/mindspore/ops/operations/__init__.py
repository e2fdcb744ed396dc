"""Operators as objects: made once, called like functions. `Custom` is the one that users bring."""

from ..primitive import Primitive as Primitive
from ..primitive import PrimitiveWithCheck as PrimitiveWithCheck
from ..primitive import PrimitiveWithInfer as PrimitiveWithInfer
from ..primitive import prim_attr_register as prim_attr_register
from . import array_ops, math_ops, nn_ops, other_ops, plain
from .array_ops import *  # noqa: F403
from .custom_ops import Custom as Custom
from .math_ops import *  # noqa: F403
from .nn_ops import *  # noqa: F403
from .other_ops import *  # noqa: F403
from .plain import *  # noqa: F403

_BASES = ["Primitive", "PrimitiveWithCheck", "PrimitiveWithInfer", "prim_attr_register"]
__all__ = [*_BASES, "Custom", *array_ops.__all__, *math_ops.__all__, *nn_ops.__all__, *other_ops.__all__, *plain.__all__]
