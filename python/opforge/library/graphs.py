"""Operators in graphs: calls of their kernels."""

from __future__ import annotations

from .. import _core
from .._calls.in_graph import in_graph
from .._calls.tracing import NotAGraph
from .results import tensors_in


# Stands for a tensor.
_HOLE = object()


def traced(op, kernel, fake):
    """A kernel as a call of the graph that this thread traces. `fake` tells what it gives for tensors on the device "meta"; where it is None or fails, as for
    sizes that depend on elements, NotAGraph is raised.
    """
    if fake is None:
        raise NotAGraph(f"{op.name} is computed by a Python function, and nothing tells what it gives; register_fake declares it")

    if any(result.alias and not result.alias.endswith("!") for result in op.schema.results):
        raise NotAGraph(f"{op.name} gives views of its arguments")

    def call(*args, **kwargs):
        given = [*args, *kwargs.values()]
        tensors = tensors_in(*given)
        # The graph's function holds no tensors of the trace.
        count, names, holed = len(args), list(kwargs), _with_tensors(given, [_HOLE] * len(tensors))

        def called(function, tensors):
            values = _with_tensors(holed, tensors)
            return _several(op.schema, function(*values[:count], **dict(zip(names, values[count:]))))

        def own(results):
            return [value for result, value in zip(op.schema.results, results) if not result.alias]

        try:
            known = own(called(fake, map(_without_elements, tensors)))
        except Exception as error:
            raise NotAGraph(f"{op.name}: what it gives is not known without elements: {error}") from error
        changed = [parameter.changes for parameter, value in zip(op.schema.parameters, given) for _ in tensors_in(value)]
        kinds = [(tensor.shape, tensor.dtype) for tensor in tensors_in(*known)]
        made = in_graph(op.name, lambda tensors: tensors_in(*own(called(kernel, tensors))), tensors, kinds, changed)
        made = iter(_with_tensors(known, made))
        # What is given back of what is changed is the argument.
        arguments = {parameter.alias: value for parameter, value in zip(op.schema.parameters, given)}
        results = [arguments[result.alias] if result.alias else next(made) for result in op.schema.results]
        return tuple(results) if op.schema.gives_tuple else results[0] if results else None

    return call


def _without_elements(tensor):
    return _core.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta")


def _with_tensors(values, tensors):
    """The values with these in the place of their tensors and holes, those in lists too."""
    left = iter(tensors)

    def replaced(value):
        if isinstance(value, (list, tuple)):
            return [replaced(item) for item in value]
        return next(left) if value is _HOLE or isinstance(value, _core.Tensor) else value

    return [replaced(value) for value in values]


def _several(schema, result):
    """Results as a list."""
    if not schema.results:
        return []
    return list(result) if schema.gives_tuple else [result]
