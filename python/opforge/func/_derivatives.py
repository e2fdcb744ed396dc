"""`grad`, `vjp`, `jvp`: derivatives at arguments, which are differentiable again, if something besides the variables needs a gradient (see `_levels`)."""

from __future__ import annotations

from functools import wraps

from .. import _core
from ._levels import Evaluated
from ._trees import leaves, like, shape


def tensors_of(tree):
    """The leaves of a tree, which must be tensors."""
    found = leaves(tree)
    for leaf in found:
        if not isinstance(leaf, _core.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    return found


def check_outputs(name, output):
    """The leaves of a function's output, which must be tensors."""
    found = leaves(output)
    for leaf in found:
        if not isinstance(leaf, _core.Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")
    if not found:
        raise RuntimeError(f"{name}: expected f to return at least one tensor, got no outputs")
    return found


def check_differentiable(name, output):
    """The leaves of a function's output, which must be tensors of a dtype that has gradients."""
    found = check_outputs(name, output)
    for leaf in found:
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(f"{name}: All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {leaf.dtype}")
    return found


def parted(name, result, has_aux):
    """A function's output and what it returns besides, if it does."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def chosen(args, argnums):
    """The arguments of these numbers, a tuple of them or one, and a function that puts others in their place."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers or any(not isinstance(n, int) or isinstance(n, bool) for n in numbers):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums!r}")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    places = [n % len(args) for n in numbers]
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")

    def replaced(values):
        values = dict(zip(places, values if isinstance(argnums, tuple) else (values,)))
        return [values.get(i, arg) for i, arg in enumerate(args)]

    return (tuple(args[n] for n in places) if isinstance(argnums, tuple) else args[places[0]]), replaced


def evaluated_at(func, args, kwargs, argnums):
    """`func(*args, **kwargs)` with variables in the place of the arguments of these numbers, and those arguments."""
    inputs, replaced = chosen(args, argnums)
    return Evaluated(lambda variables: func(*replaced(like(inputs, variables)), **kwargs), tensors_of(inputs)), inputs


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, whose output is one number, and that number. See `grad`; with `has_aux`, the value is `(value, aux)`."""
    name = "grad_and_value(f)(*args)"

    @wraps(func)
    def derived(*args, **kwargs):
        evaluated, inputs = evaluated_at(func, args, kwargs, argnums)
        output, aux = parted(name, evaluated.result, has_aux)
        if not isinstance(output, _core.Tensor):
            raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. "
                "Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.is_complex():
            raise RuntimeError(f"{name}: f returned a number of dtype {output.dtype}, a real one expected")
        gradient = like(inputs, evaluated.gradients([output]))
        output, aux = evaluated.released(output), evaluated.released(aux)
        return gradient, (output, aux) if has_aux else output

    return derived


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func`, whose output is one number, by the argument (or the tuple of arguments) of these numbers: a tree
    of tensors, as the argument is. With `has_aux`, `func` returns `(output, aux)` and the result is `(gradient, aux)`.

    >>> grad(lambda x, y: x * y, argnums=1)(opforge.tensor(2.0), opforge.tensor(3.0)).item()
    2.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def derived(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derived


def vjp(func, *primals, has_aux=False):
    """`func(*primals)`, and a function that gives for cotangents of it, a tree as the output is, a tuple of their products with the Jacobians."""
    name = "vjp(f, *primals)"
    evaluated, _ = evaluated_at(func, primals, {}, tuple(range(len(primals))))
    output, aux = parted(name, evaluated.result, has_aux)
    outputs = check_differentiable(name, output)

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        if shape(cotangents) != shape(output):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {shape(cotangents)}, primal output: {shape(output)}"
            )
        seeds = tensors_of(cotangents)
        for i, (seed, out) in enumerate(zip(seeds, outputs)):
            if seed.shape != out.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {seed.shape} and output[{i}] has a shape of {out.shape}.")
        if create_graph is None:
            create_graph = evaluated.is_recorded or _core.is_grad_enabled() and any(seed.requires_grad for seed in seeds)
        return like(primals, evaluated.gradients(outputs, seeds, create_graph))

    output_released = evaluated.released(output)
    return (output_released, vjp_fn, evaluated.released(aux)) if has_aux else (output_released, vjp_fn)


def _check_tangents(name, primals, tangents):
    for which, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise RuntimeError(f"{name}: Expected {which} to be a tuple. E.g. it should be valid to call f(*primals).")
    if shape(primals) != shape(tangents):
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. "
            f"Got primals with structure {shape(primals)} and tangents with structure {shape(tangents)}"
        )
    found = tensors_of(tangents)
    for i, (primal, tangent) in enumerate(zip(tensors_of(primals), found)):
        if primal.shape != tangent.shape:
            raise RuntimeError(f"{name}: tangent {i} has shape {tuple(tangent.shape)}, its primal {tuple(primal.shape)}; equal shapes expected")
    return found


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """`func(*primals)`, and its derivative in the direction of the tangents, a tuple as the primals are. With `has_aux`, `aux` comes third.

    The derivative is that of the product with a cotangent, by the cotangent, which costs about two gradients. So what `func` computes under `no_grad` is
    constant, as for `grad`, though PyTorch's forward mode differentiates it; of an `autograd.Function` it is what `jvp` gives, or what `backward` does where
    there is none. Outputs that do not depend on a primal (integers and truth values never do) have zeros of their dtype, unless `strict`.
    """
    name = "jvp(f, primals, tangents)"
    directions = _check_tangents(name, primals, tangents)
    evaluated = Evaluated(lambda variables: func(*like(primals, variables)), tensors_of(primals), directions)
    output, aux = parted(name, evaluated.result, has_aux)
    outputs = check_outputs(name, output)
    if strict and any(not out.requires_grad for out in outputs):
        raise RuntimeError(f"{name}: an output does not depend on the primals, which strict mode does not allow")
    tangent = like(output, evaluated.push_forward(evaluated.transposed(outputs), directions))
    output = evaluated.released(output)
    return (output, tangent, evaluated.released(aux)) if has_aux else (output, tangent)


def linearize(func, *primals):
    """`func(*primals)`, and a function that gives its derivative in the direction of tangents, without evaluating `func` again."""
    evaluated = Evaluated(lambda variables: func(*like(primals, variables)), tensors_of(primals))
    output = evaluated.result
    transposed = evaluated.transposed(check_outputs("linearize(f, *primals)", output))

    def jvp_fn(*tangents):
        directions = _check_tangents("linearize(f, *primals)", primals, tangents)
        return like(output, evaluated.push_forward(transposed, directions))

    return evaluated.released(output), jvp_fn
