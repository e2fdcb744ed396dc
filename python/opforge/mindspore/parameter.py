"""Tensors that are trained."""

from __future__ import annotations

from .tensor import Tensor


class Parameter(Tensor):
    """A tensor with a name, which a `Cell` registers when it is assigned to it; it holds a copy of `default_input`.

    `requires_grad` says whether `Cell.trainable_params` lists it, and whether gradients go to it. Raises `TypeError` for a name that is no text.

    >>> print(Parameter(Tensor([1.0, 2.0]), name="w"))
    Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)
    """

    def __new__(cls, default_input, name=None, requires_grad=True, layerwise_parallel=False, parallel_optimizer=True):
        if not isinstance(name, (str, type(None))):
            raise TypeError(f"Parameter: name is a {type(name).__name__} (accepted: a str, or None)")
        parameter = super().__new__(cls, default_input)
        parameter.layerwise_parallel, parameter.parallel_optimizer = layerwise_parallel, parallel_optimizer
        parameter.name = UNNAMED if name is None else name
        parameter._trainable = requires_grad
        return parameter

    @property
    def requires_grad(self):
        return self._trainable

    @requires_grad.setter
    def requires_grad(self, value: bool):
        self._trainable = value

    def set_data(self, data, slice_shape=False):
        """Replaces the elements (and the shape) by a copy of `data`'s; the dtype stays. Returns the parameter."""
        return self.assign_value(data)

    def clone(self, init="same"):
        """A parameter with a copy of the elements, or with those that an initializer, its name or a number make."""
        if isinstance(init, str) and init == "same":
            return Parameter(self, self.name, self._trainable)
        from .common.initializer import initializer

        return Parameter(initializer(init, self.shape, self.dtype), self.name, self._trainable)

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), self.clone())

    def __reduce_ex__(self, protocol):
        return Parameter, (Tensor(self), self.name, self._trainable)

    def __repr__(self):
        return f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, requires_grad={self._trainable})"

    __str__ = __repr__


# The name of a parameter that has none yet.
UNNAMED = "Parameter"


class ParameterTuple(tuple):
    """Parameters, in the order of `iterable`; `GradOperation` gives their gradients in that order."""

    def __new__(cls, iterable):
        parameters = tuple(iterable)
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"ParameterTuple: every item must be a Parameter, not {type(parameter).__name__}")
        return super().__new__(cls, parameters)

    def clone(self, prefix, init="same"):
        """Copies of the parameters, whose names begin with `prefix` and a dot; `init` is as in `Parameter.clone`."""
        clones = [parameter.clone(init) for parameter in self]
        for clone in clones:
            clone.name = f"{prefix}.{clone.name}"
        return ParameterTuple(clones)
