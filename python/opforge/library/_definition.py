"""Operators that are declared part by part: a schema first, then what is computed, for the device "meta", and the gradient."""

from __future__ import annotations

import re

from .._core import ArgumentError
from ._python_op import PythonOp
from ..custom import custom_op

# Dispatch keys and types of devices whose functions compute on the CPU, those whose functions are made of differentiable calls, and others.
_KERNELS = {"cpu", "default", "compositeexplicitautograd", "backendselect"}
_COMPOSITIONS = {"compositeimplicitautograd", "autograd", "autogradcpu"}
_META = "meta"


class Definition:
    """An operator by its name and schema. It is called through a custom operator, or as a plain function if it is composed of differentiable calls."""

    def __init__(self, name, schema=None):
        self.name = name
        self.schema = None
        self._composition = self._kernel = self._fake = self._gradient = self._op = None
        if schema is not None:
            self.define(schema)

    def define(self, schema):
        """Its schema, in which sizes are numbers."""
        self.schema = re.sub(r"\bSymInt\b", "int", schema)

    def implement(self, function, key):
        """Keeps the function for a dispatch key; those of devices that are not there are never called."""
        key = key.lower()
        if key in _COMPOSITIONS:
            self._composition = function
        elif key in _KERNELS:
            self._kernel, self._op = function, None
        elif key == _META:
            self.register_fake(function)
        return function

    def register_fake(self, function):
        """What it gives for tensors on the device "meta"."""
        self._fake, self._op = function, None
        return function

    def register_autograd(self, backward, /, *, setup_context=None):
        """Its gradient."""
        self._gradient, self._op = (backward, setup_context), None

    def __call__(self, *args, **kwargs):
        if self._composition is not None:
            return self._composition(*args, **kwargs)
        if self._op is None:
            self._op = self._made()
        return self._op(*args, **kwargs)

    def _made(self):
        if self._kernel is None:
            raise NotImplementedError(f"Could not run '{self.name}': nothing tells what it computes on the CPU")
        try:
            op = custom_op(self.name, self._kernel, schema=self.schema)
        except ArgumentError:  # of types that schemas of opforge's do not have
            op = PythonOp(self._kernel, self.name)
        if self._fake is not None:
            op.register_fake(self._fake)
        if self._gradient is not None:
            op.register_autograd(self._gradient[0], setup_context=self._gradient[1])
        return op
