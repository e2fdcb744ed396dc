"""Gradients against differences."""

from __future__ import annotations

from .. import _core
from . import forward_ad
from .grad_mode import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """A gradient that differs from its differences."""


def _tensors(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _differentiable(tensors):
    return [t for t in tensors if isinstance(t, _core.Tensor) and t.requires_grad]


def _numerical(function, inputs, place, eps):
    """The Jacobians of the outputs with respect to an input, by central differences: a row an element of the input."""
    source = inputs[place]
    flat = source.detach().clone().reshape(-1)
    rows = []
    for i in range(flat.numel()):
        ends = []
        for step in (eps, -eps):
            moved = flat.clone()
            moved[i] += step
            changed = [*inputs]
            changed[place] = moved.reshape(source.shape)
            with no_grad():
                ends.append([o.detach().reshape(-1).clone() for o in _outputs(function, changed)])
        rows.append([(up - down) / (2 * eps) for up, down in zip(*ends)])
    return [_core.stack([row[k] for row in rows]) for k in range(len(rows[0]))] if rows else []


def _outputs(function, inputs):
    outputs = _tensors(function(*inputs))
    return [o for o in outputs if isinstance(o, _core.Tensor) and (o.is_floating_point() or o.is_complex())]


def _is_complex(value):
    return isinstance(value, _core.Tensor) and value.is_complex()


def _over_reals(function, inputs):
    """The same function of real tensors, complex ones as pairs of parts, and its inputs: gradients of complex tensors are those of the parts."""
    pairs = [_is_complex(x) for x in inputs]

    def of_parts(*arguments):
        outputs = _tensors(function(*[_core.view_as_complex(x) if pair else x for x, pair in zip(arguments, pairs)]))
        return [_core.view_as_real(o) if _is_complex(o) else o for o in outputs]

    return of_parts, [_core.view_as_real(x.detach()).requires_grad_(x.requires_grad) if pair else x for x, pair in zip(inputs, pairs)]


def _analytical(output, source):
    """The Jacobian of an output with respect to an input, by backward: a row an element of the input."""
    columns = []
    for i in range(output.numel()):
        seed = _core.zeros(output.numel(), dtype=output.dtype, device=output.device)
        seed[i] = 1
        (grad,) = _core.grad(output, source, seed.reshape(output.shape), retain_graph=True, allow_unused=True)
        columns.append((_core.zeros_like(source) if grad is None else grad).reshape(-1))
    return _core.stack(columns, dim=1)


def _forward(function, inputs, place):
    """The Jacobians of the outputs with respect to an input, by dual numbers: a row an element of the input."""
    source, rows = inputs[place], []
    for i in range(source.numel()):
        tangent = _core.zeros(source.numel(), dtype=source.dtype, device=source.device)
        tangent[i] = 1
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(source.detach(), tangent.reshape(source.shape))
            outputs = _outputs(function, [*inputs[:place], dual, *inputs[place + 1 :]])
            tangents = [forward_ad.unpack_dual(output).tangent for output in outputs]
        rows.append([(_core.zeros_like(o) if t is None else t).detach().reshape(-1) for o, t in zip(outputs, tangents)])
    return [_core.stack([row[k] for row in rows]) for k in range(len(rows[0]))] if rows else []


def gradcheck(
    function, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, check_forward_ad=False, check_backward_ad=True, **_options
) -> bool:
    """Compares the gradients of `function(*inputs)` with central differences, for inputs that require gradients (float64 or complex128 is advised): those of
    backward, of `autograd.forward_ad`, or of both."""
    function, inputs = _over_reals(function, _tensors(inputs))
    if not _differentiable(inputs):
        raise ValueError("gradcheck expects at least one input tensor that requires grad")
    with enable_grad():
        outputs = _outputs(function, inputs)
    for place, source in enumerate(inputs):
        if not _differentiable([source]):
            continue
        numerical = _numerical(function, inputs, place, eps)
        checked = [k for k, output in enumerate(outputs) if output.requires_grad and output.numel() and source.numel()]
        found = []
        if check_backward_ad:
            found += [(k, "analytical", _analytical(outputs[k], source)) for k in checked]
        if check_forward_ad and checked:
            forward = _forward(function, inputs, place)
            found += [(k, "forward", forward[k]) for k in checked]
        for k, kind, jacobian in found:
            if _core.allclose(jacobian, numerical[k].to(jacobian.dtype), rtol=rtol, atol=atol):
                continue
            if raise_exception:
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input {place},\nnumerical: {numerical[k]}\n{kind}: {jacobian}"
                )
            return False
    return True


def gradgradcheck(function, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **_options) -> bool:
    """Compares the second derivatives of `function(*inputs)` with central differences of its gradients."""
    inputs = _tensors(inputs)
    outputs = _differentiable(_outputs(function, inputs))
    if grad_outputs is None:
        seeds = [_core.randn(o.shape, dtype=o.dtype).requires_grad_() for o in outputs]
    else:
        seeds = _tensors(grad_outputs)

    def gradient(*arguments):
        given, weights = arguments[: len(inputs)], arguments[len(inputs) :]
        given = [t if not isinstance(t, _core.Tensor) or t.requires_grad or not s.requires_grad else t.requires_grad_()
                 for t, s in zip(given, inputs)]
        with enable_grad():
            results = _differentiable(_outputs(function, given))
            return _core.grad(results, _differentiable(given), list(weights), create_graph=True, materialize_grads=True)

    return gradcheck(gradient, [*inputs, *seeds], eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
