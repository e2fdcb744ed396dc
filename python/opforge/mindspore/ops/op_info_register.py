"""The declarations of `ops`, by the name of MindSpore's module."""

from .register import CustomRegOp as CustomRegOp
from .register import DataType as DataType
from .register import custom_info_register as custom_info_register
