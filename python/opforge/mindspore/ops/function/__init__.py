"""Functions of tensors: opforge's, with MindSpore's dtypes and, where they differ, its names and arguments.

Each module has a table of them; many have names of Python's own functions, which its code uses.
"""

from . import array_func, math_func, nn_func, random_func

_FUNCTIONS = array_func.FUNCTIONS | math_func.FUNCTIONS | nn_func.FUNCTIONS | random_func.FUNCTIONS
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
