"""Looking for mistakes in the declarations of an operator."""

from __future__ import annotations

import warnings

from .. import _core, graph
from .._C._below_autograd import _AutoDispatchBelowAutograd
from ..testing import assert_close
from ..utils._pytree import tree_map
from . import registry
from .binding import bind
from .results import of_own_memory, tensors_in


class OpCheckError(Exception):
    """A mistake that `opcheck` found."""


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Calls an operator with these arguments, copies of them, and checks that what is declared of it is true. What it computes is for other tests.

    `test_utils` names the tests, one or several; all of them at first:

    - "test_schema": arguments are unchanged unless the schema says so, and results share no memory with them or each other unless it says so.
    - "test_autograd_registration": its kernel records nothing itself, and where a gradient is declared it runs and has the arguments' shapes and dtypes.
    - "test_faketensor": for tensors on the device "meta" it gives the shapes, dtypes and strides that it gives for these.
    - "test_aot_dispatch_dynamic": a compiled function of it gives the same results and gradients as it, to `rtol` and `atol`.

    Returns a dict by the tests' names of "SUCCESS" or the exception; with `raise_exception` it raises an OpCheckError of the first.

    >>> opcheck(opforge.ops.mine.sine, (opforge.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(): one of rtol and atol (accepted: both or none)")
    found = registry.find(getattr(op, "_qualname", None))
    if found is None:
        raise ValueError(f"opcheck(): {op!r} is no operator that was declared in opforge.library")
    names = _TESTS if test_utils in (None, "ALL") else (test_utils,) if isinstance(test_utils, str) else test_utils
    if unknown := sorted(set(names) - set(_TESTS)):
        raise ValueError(f"opcheck(): test_utils: {unknown} (accepted: {', '.join(_TESTS)})")
    values = bind(found.name, found.schema, args, kwargs or {})
    return {name: _outcome(name, found, values, raise_exception, {"rtol": rtol, "atol": atol}) for name in names}


def _outcome(name, op, values, raises, tolerances):
    try:
        _TESTS[name](op, values, tolerances)
    except Exception as error:
        if raises:
            raise OpCheckError(f"opcheck({op!r}): {name} failed: {error}") from error
        return error
    return "SUCCESS"


def _copied(values):
    """Values whose tensors are copies, leaves that need a gradient where they did."""
    return tree_map(lambda value: value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, _core.Tensor) else value, values)


def _detached(values):
    return tree_map(lambda value: value.detach().clone() if isinstance(value, _core.Tensor) else value, values)


def _schema(op, values, tolerances):
    given = _detached(values)
    of_own_memory(op.name, op.schema, lambda *values: op._run(list(values)))(*given)
    for parameter, before, after in zip(op.schema.parameters, values, given):
        if not parameter.changes and not all(map(_is_same, tensors_in(before), tensors_in(after))):
            raise RuntimeError(f"{op.name}: argument {parameter.name!r} was changed, which its schema does not say: {op._schema}")


def _is_same(before, after):
    return before.shape == after.shape and _core.allclose(before.detach(), after, rtol=0, atol=0, equal_nan=True)


def _needing(values):
    return [tensor for tensor in tensors_in(*values) if tensor.requires_grad]


def _autograd_registration(op, values, tolerances):
    if not _needing(values):
        return
    given = _copied(values)
    with _AutoDispatchBelowAutograd():
        outputs = _outputs(op._run(given))
    known = {id(tensor) for tensor in tensors_in(*given)}
    if any(output.requires_grad and id(output) not in known for output in outputs):
        raise AssertionError(f"{op.name}: its kernel gives results that require a gradient (accepted: register_autograd, or a function for the key 'Autograd')")
    if op.backward is not None:
        _gradients(op._run, _copied(values))


def _outputs(result):
    return tensors_in(*result) if isinstance(result, tuple) else tensors_in(result)


def _gradients(function, values):
    """The results' elements and the gradients of their sums with respect to the values, which have their shapes."""
    outputs = _outputs(function(values))
    needing = _needing(values)
    sources = [output for output in outputs if output.requires_grad]
    grads = _core.grad(sources, needing, [_core.ones_like(source) for source in sources], allow_unused=True) if sources and needing else ()
    for tensor, grad in zip(needing, grads):
        if grad is not None and (grad.shape, grad.dtype) != (tensor.shape, tensor.dtype):
            raise AssertionError(f"gradient of shape {tuple(grad.shape)} and {grad.dtype} of a tensor of shape {tuple(tensor.shape)} and {tensor.dtype}")
    return [output.detach() for output in outputs], list(grads)


def _faketensor(op, values, tolerances):
    real = _outputs(op._run(_detached(values)))
    fake = _outputs(op._run(tree_map(_without_elements, _detached(values))))
    if len(real) != len(fake):
        raise AssertionError(f"{op.name}: {len(fake)} results on the device 'meta' where there are {len(real)}")
    for place, (expected, found) in enumerate(zip(map(_layout, real), map(_layout, fake))):
        if expected != found:
            raise AssertionError(f"{op.name}: result {place} on the device 'meta' has (shape, dtype, strides) {found} where it is {expected}")


def _without_elements(value):
    if isinstance(value, _core.device):
        return _core.device("meta")
    if not isinstance(value, _core.Tensor):
        return value
    return _core.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _layout(tensor):
    """Shape, dtype, and the strides of dimensions along which there are several elements."""
    return tuple(tensor.shape), tensor.dtype, tuple(stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1)


def _compiled(op, values, tolerances):
    of_tensors = graph.compile(lambda given: op._run(given))
    eager, grads = _gradients(op._run, _copied(values))
    with warnings.catch_warnings():  # of what runs as it is
        warnings.simplefilter("ignore")
        compiled, others = _gradients(of_tensors, _copied(values))
    for expected, found in zip([*eager, *grads], [*compiled, *others], strict=True):
        if expected is not None and found is not None:
            assert_close(found, expected, equal_nan=True, **tolerances)
        elif expected is not found:
            raise AssertionError(f"{op.name}: a gradient is None when it is compiled, or only then")


_TESTS = {
    "test_schema": _schema, "test_autograd_registration": _autograd_registration, "test_faketensor": _faketensor, "test_aot_dispatch_dynamic": _compiled,
}  # fmt: skip
