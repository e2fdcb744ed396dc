"""Operators: as functions (`ops.add`), as objects (`ops.Add()`), and custom ones (`ops.Custom`)."""

from . import composite as composite
from . import functions as functional
from . import operations as operations
from .functions import *  # noqa: F403
from .operations import *  # noqa: F403
from .composite import GradOperation as GradOperation
from .composite import grad as grad
from .composite import value_and_grad as value_and_grad
from .custom import Custom as Custom
from .register import CustomRegOp as CustomRegOp
from .register import DataType as DataType
from .register import custom_info_register as custom_info_register
