"""Operators as objects: made once, called like functions."""

from __future__ import annotations

from . import functions


class Primitive:
    """An operator; `name` is its class's name."""

    def __init__(self):
        pass

    @property
    def name(self):
        return type(self).__name__

    def __repr__(self):
        return f"Prim[{self.name}]"


# Operators without arguments of their own, and the functions that they are.
_PLAIN = {
    "Abs": "abs",
    "Add": "add",
    "Assign": "assign",
    "BatchMatMul": "bmm",
    "Cast": "cast",
    "Ceil": "ceil",
    "Cos": "cos",
    "Div": "div",
    "Equal": "eq",
    "Erf": "erf",
    "Exp": "exp",
    "ExpandDims": "expand_dims",
    "Floor": "floor",
    "FloorDiv": "floor_divide",
    "Greater": "gt",
    "GreaterEqual": "ge",
    "Less": "lt",
    "LessEqual": "le",
    "Log": "log",
    "Log1p": "log1p",
    "LogicalAnd": "logical_and",
    "LogicalNot": "logical_not",
    "LogicalOr": "logical_or",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Mul": "mul",
    "Neg": "neg",
    "NotEqual": "ne",
    "Ones": "ones",
    "OnesLike": "ones_like",
    "Pow": "pow",
    "ReLU": "relu",
    "RealDiv": "div",
    "Reciprocal": "reciprocal",
    "Reshape": "reshape",
    "Round": "round",
    "Rsqrt": "rsqrt",
    "Select": "select",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sqrt": "sqrt",
    "Square": "square",
    "Sub": "sub",
    "Tan": "tan",
    "Tanh": "tanh",
    "Tile": "tile",
    "Transpose": "transpose",
    "Zeros": "zeros",
    "ZerosLike": "zeros_like",
}
__all__ = [
    *(
        "Primitive",
        "BroadcastTo",
        "Concat",
        "GeLU",
        "MatMul",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceSum",
        "Softmax",
        "Squeeze",
        "Stack",
    ),
    *_PLAIN,
]


def _define():
    """The classes of `_PLAIN`."""
    for name, function in _PLAIN.items():
        call = getattr(functions, function)
        members = {"__call__": staticmethod(call), "__doc__": call.__doc__, "__module__": __name__}
        globals()[name] = type(name, (Primitive,), members)


_define()


class MatMul(Primitive):
    """The product of two matrices, each transposed first if told so."""

    def __init__(self, transpose_a=False, transpose_b=False):
        self.transpose_a, self.transpose_b = transpose_a, transpose_b

    def __call__(self, input, mat2):
        if input.ndim != 2 or mat2.ndim != 2:
            raise ValueError(f"{self.name}: {input.ndim} and {mat2.ndim} dimensions (accepted: 2 and 2; see ops.matmul)")
        return functions.matmul(input.T if self.transpose_a else input, mat2.T if self.transpose_b else mat2)


class _Reduction(Primitive):
    """A function along axes: a number or a tuple, all of them if it is ()."""

    def __init__(self, keep_dims=False):
        self.keep_dims = keep_dims

    def __call__(self, x, axis=()):
        return self.function(x, axis, self.keep_dims)


class ReduceSum(_Reduction):
    """The sum along axes. With `skip_mode`, an axis of () changes nothing."""

    function = staticmethod(functions.reduce_sum)

    def __init__(self, keep_dims=False, skip_mode=False):
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def __call__(self, x, axis=()):
        return x if self.skip_mode and axis == () else super().__call__(x, axis)


class ReduceMean(_Reduction):
    """The mean along axes."""

    function = staticmethod(functions.reduce_mean)


class ReduceMax(_Reduction):
    """The largest elements along axes."""

    function = staticmethod(functions.reduce_max)


class ReduceMin(_Reduction):
    """The smallest elements along axes."""

    function = staticmethod(functions.reduce_min)


class _AlongAxis(Primitive):
    """A function with an axis that is chosen beforehand."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, x):
        return self.function(x, self.axis)


class Concat(_AlongAxis):
    """Tensors one after the other along an axis."""

    function = staticmethod(functions.concat)


class Stack(_AlongAxis):
    """Tensors of one shape along a new axis."""

    function = staticmethod(functions.stack)


class Softmax(_AlongAxis):
    """Exponentials along an axis, divided by their sum."""

    function = staticmethod(functions.softmax)

    def __init__(self, axis=-1):
        super().__init__(axis)


class Squeeze(_AlongAxis):
    """Without dimensions of size 1: all of them if `axis` is ()."""

    def __init__(self, axis=()):
        super().__init__(axis)

    def __call__(self, input):
        return functions.squeeze(input) if self.axis == () else functions.squeeze(input, self.axis)


class GeLU(Primitive):
    """The activation in its approximation by the hyperbolic tangent; `ops.gelu` has the exact one."""

    def __call__(self, x):
        return functions.gelu(x, approximate="tanh")


class BroadcastTo(Primitive):
    """The tensor, repeated to a shape; -1 keeps a size."""

    def __init__(self, shape):
        self.shape = shape

    def __call__(self, input):
        return functions.broadcast_to(input, self.shape)
