"""What a function does along one dimension it does along every other: moved to the front, it gives the same."""

import inspect

import pytest

import opforge as torch

SPACES = [torch, torch.nn.functional, torch.linalg, torch.special, torch.fft]
RANDOM = torch.Generator().manual_seed(0)
X, Y = (torch.randn(2, 3, 4, 5, generator=RANDOM) for _ in range(2))
WHOLE = torch.randint(0, 2, (2, 3, 4, 5), generator=RANDOM)
# Tries of arguments besides the dimension; ties, since what is equal is found in places that depend on what comes first.
TRIES = [(X,), (WHOLE,), (X > 0,), (X, Y), (WHOLE, WHOLE), (X, WHOLE), (X, 2), (X, WHOLE, Y), (X, Y, Y), (X, torch.tensor([0, 1])),
         (X, torch.tensor([0, 1]), 1.5), ([X, Y],), (X, 0), (X, 0, 2), (X, 2, 1.5), (X, WHOLE, Y, "sum")]
# A new dimension is before the given one; random numbers come, and slices lie, in the order of the memory.
OTHERS = {"stack", "unsqueeze", "unsqueeze_copy", "gumbel_softmax", "slice_inverse"}


def functions():
    for space in SPACES:
        for name in sorted(set(dir(space)) - OTHERS):
            function = getattr(space, name)
            if name.startswith("_") or not callable(function) or inspect.isclass(function):
                continue
            try:
                parameters = inspect.signature(function).parameters
            except (TypeError, ValueError):
                continue
            if "dim" in parameters and parameters["dim"].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD:
                yield pytest.param(function, list(parameters), id=f"{space.__name__}.{name}")


FUNCTIONS = list(functions())


def along(function, names, arguments, dim):
    """The tensors that a call gives, or None where it is refused."""
    place = names.index("dim")
    first, rest = arguments[:place], arguments[place:]
    try:
        result = function(*first, dim=dim, **dict(zip(names[place + 1:], rest)))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None
    return [result] if isinstance(result, torch.Tensor) else [t for t in result if isinstance(t, torch.Tensor)]


def at_front(argument, dim):
    """An argument, or several, with the dimension as the first of all tensors that have four."""
    if isinstance(argument, (tuple, list)):
        return [at_front(each, dim) for each in argument]
    return argument.movedim(dim, 0) if isinstance(argument, torch.Tensor) and argument.ndim == 4 else argument


def is_same(result, moved, dim):
    ways = [moved, *([moved.movedim(0, dim)] if moved.ndim > dim else [])]
    return any(result.shape == way.shape and torch.allclose(result, way, equal_nan=True) for way in ways)


def test_most_functions_answer():
    answers = [f for f in FUNCTIONS if any(along(*f.values, arguments, dim) for arguments in TRIES for dim in range(4))]
    assert len(answers) > 70


@pytest.mark.parametrize("function, names", FUNCTIONS)
def test_every_dimension_is_as_the_first(function, names):
    for arguments in TRIES:
        for dim in range(4):
            results = along(function, names, arguments, dim)
            at_first = along(function, names, at_front(arguments, dim), 0)
            assert (results is None) == (at_first is None), (arguments, dim)
            for result, expected in zip(results or [], at_first or [], strict=True):
                assert is_same(result, expected, dim), (arguments, dim)


def test_slices_are_in_the_order_of_their_elements():
    """Elements of a slice were compared in another order than they lie in along the third dimension and later ones."""
    slices = torch.tensor([[[1, 1], [5, -3]], [[0, 3], [-1, -1]]])
    assert slices.unique(dim=2).tolist() == [[[1, 1], [-3, 5]], [[3, 0], [-1, -1]]]
