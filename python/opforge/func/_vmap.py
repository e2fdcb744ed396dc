"""`vmap`: a function of single examples as a function of batches."""

from __future__ import annotations

from functools import wraps

from .. import _core
from .._calls.arguments import dim_from_0
from .._calls.tracing import refuse
from ._trees import filled, leaves, like, shape, spread


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function of batches that gives what `func` gives for each example, stacked.

    `in_dims` says along which dimension of the arguments the examples lie: a number for all, or a tuple of one for each, which may be trees of numbers
    as the arguments are trees of tensors; None is for what is the same for all examples. `out_dims` says the same of the results. Keyword arguments are
    the same for all.

    `func` is called once for each example, so the cost is that of as many calls: `vmap` saves no time over a loop, and `chunk_size`, by which PyTorch
    saves memory, has no effect. What is written in place to tensors from outside is written by each call. `randomness` says what random numbers do:
    "different" for each example, "same" for all, or "error" (RuntimeError) if there are any.

    >>> vmap(lambda x, y: (x * y).sum())(opforge.ones(3, 2), opforge.ones(3, 2)).tolist()
    [2.0, 2.0, 2.0]
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @wraps(func)
    def mapped(*args, **kwargs):
        inputs = leaves(args)
        dims = _input_dims(name, in_dims, args)
        size = _batch_size(name, inputs, dims)
        batches = [leaf.unbind(dim) if dim is not None and size else leaf for leaf, dim in zip(inputs, dims)]

        structure = shape(args)

        def call(i):
            return func(*filled([batch if dim is None else batch[i] for batch, dim in zip(batches, dims)], structure), **kwargs)

        if size == 0:  # an example of zeros tells what results are like
            batches = [leaf if dim is None else [_core.zeros_like(leaf).sum(dim).to(leaf.dtype)] for leaf, dim in zip(inputs, dims)]
            return _stacked(name, [call(0)], out_dims, empty=True)
        return _stacked(name, _run(call, size, randomness), out_dims)

    return mapped


def _run(call, size, randomness):
    """What the calls give."""
    before = _core.get_rng_state()
    results = []
    for i in range(size):
        if i and randomness == "same":
            _core.set_rng_state(before)
        results.append(call(i))
    if randomness != "different" and any(a.item() != b.item() for a, b in zip(before, _core.get_rng_state())):
        _check_random(randomness)
    return results


def _check_random(randomness):
    """An error if random numbers were drawn that should not have been, or that are not what they should be."""
    if randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap "
            "or perform the randomness operation out of vmap"
        )
    refuse("vmap with randomness='same' draws random numbers again, and graphs draw them when they run")


def _input_dims(name, in_dims, args):
    """A dimension, or None, for each leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
            f"inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs.")
    dims = spread(in_dims, args)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {shape(in_dims)} but inputs has structure {shape(args)}."
        )
    return dims


def _batch_size(name, inputs, dims):
    sizes = []
    for leaf, dim in zip(inputs, dims):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"vmap({name}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, _core.Tensor):
            raise ValueError(
                f"vmap({name}, in_dims={dim}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type {type(leaf)}. "
                "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"vmap({name}, in_dims={dim}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        sizes.append(leaf.shape[dim])
    if not sizes:
        raise ValueError(f"vmap({name}, ...)(<inputs>): in_dims names no dimension of an input to map over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return sizes[0]


def _stacked(name, results, out_dims, empty=False):
    """The results of all examples as one; with none of them if `empty`."""
    first = results[0]
    if any(not isinstance(dim, int) and dim is not None for dim in leaves(out_dims)):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints")
    dims = spread(out_dims, first)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {shape(out_dims)} but outputs has structure {shape(first)}."
        )
    structure = shape(first)
    if any(shape(result) != structure for result in results):
        raise ValueError(f"vmap({name}, ...): `{name}` must return values of one structure for all examples")
    columns = zip(*map(leaves, results))
    return like(first, [_stack(name, column, dim, empty) for column, dim in zip(columns, dims)])


def _stack(name, column, dim, empty):
    if dim is None:
        if any(not _is_same(column[0], other) for other in column[1:]):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a value that differs between examples when out_dim is None")
        return column[0]
    for value in column:
        if not isinstance(value, _core.Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set out_dims= to None for output?"
            )
    dim = dim_from_0(dim, column[0].dim() + 1)
    stacked = _core.stack(list(column), dim)
    return stacked.narrow(dim, 0, 0) if empty else stacked


def _is_same(first, second):
    if not isinstance(first, _core.Tensor) or not isinstance(second, _core.Tensor):
        return first is second or first == second
    return first is second or first.shape == second.shape and _core.allclose(first, second, rtol=0, atol=0, equal_nan=True)
