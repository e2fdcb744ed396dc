"""Derivatives of functions of tensors, as tensors: Jacobians, Hessians, and products with them."""

from __future__ import annotations

from .. import _core
from .grad_mode import enable_grad


def _as_tuple(value, name):
    several = isinstance(value, (tuple, list))
    tensors = tuple(value) if several else (value,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, _core.Tensor):
            raise TypeError(f"{name} {i} must be a Tensor, not {type(tensor).__name__}")
    return several, tensors


def _evaluate(func, inputs, create_graph):
    """Outputs of `func`, and the inputs that they were computed from: fresh leaves, or views when derivatives are to be recorded."""
    inputs = tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)
    return inputs, _as_tuple(func(*inputs), "output")


def _gradients(outputs, inputs, seeds, create_graph, strict):
    """The gradients with respect to the inputs, zeros where nothing depends on one (an error if `strict`)."""
    which = [i for i, output in enumerate(outputs) if output.requires_grad]
    found = [None] * len(inputs)
    places = [i for i, source in enumerate(inputs) if source.requires_grad]
    if which and places:
        gradients = _core.grad(
            [outputs[i] for i in which],
            [inputs[i] for i in places],
            None if seeds is None else [seeds[i] for i in which],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
        for i, gradient in zip(places, gradients):
            found[i] = gradient
    if strict and any(grad is None for grad in found):
        raise RuntimeError("the output does not depend on an input, which strict mode does not allow")
    return tuple(_core.zeros_like(t) if grad is None else grad for grad, t in zip(found, inputs))


def _unit(output, i):
    seed = _core.zeros(output.numel(), dtype=output.dtype, device=output.device)
    seed[i] = 1
    return seed.reshape(output.shape)


def _rows(output, inputs, create_graph, strict):
    """The Jacobian of an output by each input, a backward for each element of the output."""
    parts = [_gradients([output], inputs, [_unit(output, i)], create_graph, strict) for i in range(output.numel())]
    return tuple(_stack([part[k] for part in parts], output, t) for k, t in enumerate(inputs))


def _transposed(outputs, inputs):
    """Cotangents of the outputs, and the gradients of the inputs as functions of them: linear ones, whose derivative is the Jacobian transposed. Cotangents
    of outputs that depend on no input, such as integers, need no gradients."""
    dummies = tuple(_core.zeros_like(output).requires_grad_(output.requires_grad) for output in outputs)
    return dummies, _gradients(outputs, inputs, dummies, True, False)


def _push_forward(outputs, inputs, tangents, create_graph, strict):
    """The derivatives of the outputs in the direction of the tangents of the inputs."""
    dummies, back = _transposed(outputs, inputs)
    return _gradients(back, dummies, tangents, create_graph, strict)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of `func` at `inputs`: of shape (*output, *input), a tuple for several inputs or outputs."""
    with enable_grad():
        many_inputs, inputs = _as_tuple(inputs, "input")
        inputs, (many_outputs, outputs) = _evaluate(func, inputs, create_graph)
        rows = [_rows(output, inputs, create_graph, strict) for output in outputs]
    rows = [row if many_inputs else row[0] for row in rows]
    return tuple(rows) if many_outputs else rows[0]


def _stack(parts, output, source):
    shape = (*output.shape, *source.shape)
    return _core.stack(parts).reshape(shape) if parts else _core.zeros(shape, dtype=source.dtype, device=source.device)


def _gradient_of(name, func, many, strict):
    """The gradient of a function of one element, as a function, and the list that holds the element once it has been called."""
    values = []

    def gradient(*arguments):
        _, values[:] = _as_tuple(func(*arguments), "output")
        if len(values) != 1 or values[0].numel() != 1:
            raise RuntimeError(f"{name} needs a function that returns one element")
        found = _gradients(values, arguments, None, True, strict)
        return found if many else found[0]

    return gradient, values


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a scalar function: of shape (*input, *input), tuples of tuples for several inputs."""
    many, _ = _as_tuple(inputs, "input")
    gradient, _ = _gradient_of("hessian", func, many, strict)
    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict)


def _vectors(name, v, tensors):
    """The tensors of `v`, one for each of these."""
    vectors = _as_tuple(v, "v")[1]
    if len(vectors) != len(tensors):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, {len(tensors)} expected")
    return vectors


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, and the product of `v` with its Jacobian."""
    with enable_grad():
        many, inputs = _as_tuple(inputs, "input")
        inputs, (several, outputs) = _evaluate(func, inputs, create_graph)
        seeds = None if v is None else _vectors("vjp", v, outputs)
        if v is None and (len(outputs) != 1 or outputs[0].numel() != 1):
            raise RuntimeError("vjp needs v unless the function returns one element")
        found = _gradients(outputs, inputs, seeds, create_graph, strict)
    outputs = outputs if create_graph else tuple(output.detach() for output in outputs)
    return (outputs if several else outputs[0]), (found if many else found[0])


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, and the product of its Jacobian with `v`: by differentiating its product with a dummy twice. Without `v`, which is for an input of one
    element, it is the derivative."""
    with enable_grad():
        _, inputs = _as_tuple(inputs, "input")
        if v is None and (len(inputs) != 1 or inputs[0].numel() != 1):
            raise RuntimeError("jvp needs v unless the input is one tensor of one element")
        inputs, (several, outputs) = _evaluate(func, inputs, create_graph)
        tangents = tuple(_core.ones_like(t) for t in inputs) if v is None else _vectors("jvp", v, inputs)
        found = _push_forward(outputs, inputs, tangents, create_graph, strict)
    outputs = outputs if create_graph else tuple(output.detach() for output in outputs)
    return (outputs if several else outputs[0]), (found if several else found[0])


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """A scalar function's value, and the product of its Hessian with `v`."""
    many, _ = _as_tuple(inputs, "input")
    gradient, values = _gradient_of("hvp", func, many, strict)
    _, product = vjp(gradient, inputs, v, create_graph, strict)
    return (values[0] if create_graph else values[0].detach()), product


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """As `hvp`: Hessians are symmetric."""
    return hvp(func, inputs, v, create_graph, strict)
