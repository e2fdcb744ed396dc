"""Custom operators that are Python functions of numpy arrays."""

from __future__ import annotations

import numpy as np

from ... import CustomOpError, _core
from ..._calls.in_graph import in_graph
from ..._calls.tracing import NotAGraph, is_compiling
from ..dtype import OF_CORE, Type, pytype_to_dtype
from ..gradient import WithBprop, is_recorded
from ..tensor import Base, Tensor, adopt
from . import rules


class PythonOperator:
    """`function` of numpy arrays and other arguments, as an operator.

    Without `out_shape` or `out_dtype`, the results' own shapes or dtypes count.
    """

    def __init__(self, name, function, out_shape, out_dtype, bprop, accepted):
        self.name, self.function = name, function
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.bprop = bprop or self._no_bprop
        self.accepted = accepted

    def __call__(self, *args):
        if self.accepted:
            self._check_dtypes(args)
        if _core.is_grad_enabled() and any(isinstance(arg, Base) and is_recorded(arg) for arg in args):
            return WithBprop.call(self.name, self._run, self.bprop, args)
        return self._run(*args)

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
        result = self.function(*(arg.asnumpy() if isinstance(arg, Tensor) else arg for arg in args))
        results = result if isinstance(result, (tuple, list)) else (result,)
        several = len(results) != 1
        dtypes = [None] * len(results)
        if self.out_dtype is not None:
            dtypes, several = rules.dtypes(self.out_dtype, map(_dtype, args))
        if self.out_shape is not None:
            shapes, several = rules.shapes(self.out_shape, map(np.shape, args))
            self._check_shapes(results, shapes)
        if len(results) != len(dtypes):
            raise self._fault(f"returned {len(results)} arrays (accepted: {len(dtypes)}, one for each output)")
        return [self._tensor(array, dtype) for array, dtype in zip(results, dtypes)], several

    def _tensor(self, array, dtype):
        if array is None:
            raise self._fault("returned None (accepted: a numpy array for each output)")
        return _core.tensor(np.asarray(array), dtype=dtype)

    def _check_shapes(self, results, shapes):
        if len(results) != len(shapes):
            raise self._fault(f"returned {len(results)} arrays (accepted: {len(shapes)}, one for each output)")
        for i, (array, shape) in enumerate(zip(results, shapes)):
            if list(np.shape(array)) != shape:
                raise self._fault(f"output {i} has shape {list(np.shape(array))} (accepted: {shape}, which out_shape declares)")

    def _check_dtypes(self, args):
        given = [arg.dtype for arg in args if isinstance(arg, Tensor)]
        for combination in self.accepted:
            if all(core is None or core is dtype.core for core, dtype in zip(combination, given)):
                return
        registered = "; ".join(", ".join(_title(core) for core in combination) for combination in self.accepted)
        raise TypeError(f"{self.name}: inputs of {', '.join(map(str, given))} (registered, with outputs: {registered})")

    def _no_bprop(self, *args):
        raise RuntimeError(f"{self.name} has no bprop: it cannot be differentiated")

    def _fault(self, message):
        return CustomOpError(f"{self.name}: {message}")


def _dtype(arg) -> Type:
    return arg.dtype if isinstance(arg, Tensor) else pytype_to_dtype(type(arg))


def _title(core) -> str:
    return "any" if core is None else str(OF_CORE[core])
