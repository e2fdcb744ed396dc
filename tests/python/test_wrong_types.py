"""What is no tensor where one is wanted is refused with an error that says so, by functions that are written in Python too."""

import inspect
import itertools

import pytest

import opforge as torch

SPACES = [torch, torch.nn.functional, torch.linalg, torch.special, torch.fft, torch.nn.init, torch.masked, torch.nested]
X = torch.ones(2, 3)
# What stands in the places of the other arguments.
OTHERS = [X, 1, [1, 1], lambda *of: X]
# They take modules, files or functions, or set what the process keeps.
NO_FUNCTIONS_OF_TENSORS = {"compile", "load", "save", "from_file", "while_loop", "cond", "typename", "manual_seed", "use_deterministic_algorithms"}


class Odd:
    pass


WRONG = [Odd(), "text", None, [1.0, 2.0], 3]


def functions():
    for space in SPACES:
        for name in sorted(set(dir(space)) - NO_FUNCTIONS_OF_TENSORS):
            function = getattr(space, name)
            if name.startswith(("_", "set_")) or not callable(function) or inspect.isclass(function):
                continue
            try:
                parameters = inspect.signature(function).parameters.values()
            except (TypeError, ValueError):
                continue
            required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if required:
                yield pytest.param(function, len(required), id=f"{space.__name__}.{name}")


def calls(count):
    """Arguments of which one is none that a tensor could be."""
    several = min(count - 1, 3)
    for place, others, wrong in itertools.product(range(count), itertools.product(OTHERS, repeat=several), WRONG):
        rest = [*others, *[X] * (count - 1 - several)]
        yield [*rest[:place], wrong, *rest[place:]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function, count", list(functions()))
def test_no_attribute_is_missed(function, count):
    """An AttributeError would tell of the inside of a function, and not which argument is wrong."""
    for arguments in calls(count):
        try:
            function(*arguments)
        except (TypeError, ValueError, RuntimeError, NotImplementedError, IndexError):
            pass


@pytest.mark.parametrize("function, argument, call", [
    (torch.select_copy, "input", ([1, 2], 0, 0)),
    (torch.nn.init.xavier_uniform_, "tensor", ("text",)),
    (torch.linalg.ldl_solve, "pivots", (torch.eye(2), [1, 2], torch.eye(2))),
    (torch.masked.sum, "input", ([1.0],)),
    (torch.unsqueeze_copy, "input", (None, 0)),
])  # fmt: skip
def test_the_argument_is_named(function, argument, call):
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\): argument '{argument}' is a \w+, expected a tensor"):
        function(*call)


def test_other_attribute_errors_stay():
    with pytest.raises(AttributeError, match="nothing_like_this"):
        torch.nn.functional.triplet_margin_with_distance_loss(X, X, X, distance_function=lambda a, b: a.nothing_like_this)
