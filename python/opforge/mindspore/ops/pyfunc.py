"""Custom operators that are Python functions of numpy arrays."""

from __future__ import annotations

import numpy as np

from ... import CustomOpError, _core
from ..._calls.in_graph import in_graph
from ..._calls.tracing import NotAGraph, is_compiling
from ..bprop import call_with_bprop
from ..dtype import OF_CORE, Type, dtype_of_number
from ..tensor import Tensor, adopt
from . import rules
from .formats import described, fitting


class PythonOperator:
    """`function` of numpy arrays and other arguments, as an operator.

    Without `out_shape` or `out_dtype`, the results' own shapes or dtypes count. The function gets copies of the tensors, in C order and in a registered dtype:
    what it writes to them, or keeps of them, is its own.
    """

    def __init__(self, name, function, out_shape, out_dtype, bprop, registered):
        self.name, self.function = name, function
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.bprop = bprop or self._no_bprop
        self.registered = registered

    def __call__(self, *args):
        return call_with_bprop(self.name, self._run, self.bprop, args)

    def _run(self, *args):
        outputs, several = self._called_in_graph(args) if is_compiling() else self._outputs(args)
        outputs = tuple(map(adopt, outputs))
        return outputs if several else outputs[0]

    def _called_in_graph(self, args):
        """The outputs as a call of the graph that this thread traces, and whether they come as a tuple."""
        if self.out_shape is None or self.out_dtype is None:
            raise NotAGraph(f"{self.name} is a function of numpy arrays, and nothing tells what it gives (accepted: out_shape and out_dtype)")
        shapes, several = rules.shapes(self.out_shape, map(np.shape, args))
        dtypes, _ = rules.dtypes(self.out_dtype, map(_dtype, args))
        # The graph's function holds no tensors of the trace.
        tensors, others = [arg for arg in args if isinstance(arg, Tensor)], [None if isinstance(arg, Tensor) else (arg,) for arg in args]

        def run(tensors):
            left = iter(tensors)
            return self._outputs([adopt(next(left)) if other is None else other[0] for other in others])[0]

        return in_graph(self.name, run, tensors, list(zip(shapes, dtypes))), several

    def _outputs(self, args):
        """The outputs, and whether they come as a tuple."""
        result = self.function(*self._arrays(args))
        if self._has_no_outputs():
            return [], True
        results = result if isinstance(result, (tuple, list)) else (result,)
        if any(array is None for array in results):
            raise self._fault("returned None (accepted: a numpy array for each output)")
        several = len(results) != 1
        dtypes = [None] * len(results)
        if self.out_dtype is not None:
            dtypes, several = rules.dtypes(self.out_dtype, map(_dtype, args))
        if self.out_shape is not None:
            shapes, several = rules.shapes(self.out_shape, map(np.shape, args))
            results = self._in_shape(results, shapes)
        if len(results) != len(dtypes):
            raise self._fault(f"returned {len(results)} arrays (accepted: {len(dtypes)}, one for each output)")
        return [_core.tensor(np.asarray(array), dtype=dtype) for array, dtype in zip(results, dtypes)], several

    def _has_no_outputs(self) -> bool:
        return self.out_shape == () and self.out_dtype == ()

    def _arrays(self, args):
        """The arguments, those that are tensors as arrays of the function's own."""
        arrays = [np.array(arg.asnumpy(), order="C") if isinstance(arg, Tensor) else arg for arg in args]
        if not self.registered:
            return arrays
        given = [arg.dtype for arg in args if isinstance(arg, Tensor)]
        combination = fitting(self.registered, [dtype.core for dtype in given])
        if combination is None:
            raise TypeError(f"{self.name}: inputs of {', '.join(map(str, given))} (registered, with outputs: {described(self.registered)})")
        wanted = iter(combination)
        return [_as_registered(array, next(wanted)) if isinstance(arg, Tensor) else array for arg, array in zip(args, arrays)]

    def _in_shape(self, results, shapes):
        """The results in the declared shapes: a number has one element as well."""
        if len(results) != len(shapes):
            raise self._fault(f"returned {len(results)} arrays (accepted: {len(shapes)}, one for each output)")
        results = [np.reshape(array, shape) if np.shape(array) == () and shape == [1] else array for array, shape in zip(results, shapes)]
        for i, (array, shape) in enumerate(zip(results, shapes)):
            if list(np.shape(array)) != shape:
                raise self._fault(f"output {i} has shape {list(np.shape(array))} (accepted: {shape}, which out_shape declares)")
        return results

    def _no_bprop(self, *args):
        raise RuntimeError(f"{self.name} has no bprop: it cannot be differentiated")

    def _fault(self, message):
        return CustomOpError(f"{self.name}: {message}")


def _dtype(arg) -> Type:
    return arg.dtype if isinstance(arg, Tensor) else dtype_of_number(type(arg))


def _as_registered(array, core):
    is_of_numpy = core is not None and core != _core.bfloat16
    return array.astype(OF_CORE[core].name, copy=False) if is_of_numpy else array
