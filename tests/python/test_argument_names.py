"""Arguments by name, as PyTorch has them: each sample call with all of its arguments as keywords."""

import collections
import pathlib
import re

import pytest

import opforge as torch
from test_registry import CASES, tensors

PLACES = {"torch": "", "linalg": "linalg.", "fft": "fft.", "special": "special.", "nn": "nn.functional.", "method": "Tensor."}


def signatures():
    """The names of the parameters of PyTorch's functions, of each form that they have."""
    found = collections.defaultdict(list)
    for line in (pathlib.Path(__file__).parent / "pytorch_arguments.txt").read_text().splitlines():
        name, names = re.fullmatch(r"([\w.]+)\((.*)\)", line).groups()
        found[name].append(names.split(", ") if names else [])
    return found


SIGNATURES = signatures()


# Their sample calls have several numbers, or tensors, for one parameter.
SEVERAL = {"einsum", "empty", "new_zeros", "rand", "zeros"}


def named(case, place):
    """The calls of a case by names alone, of each of PyTorch's forms that have as many."""
    forms = SIGNATURES.get(PLACES[place] + case.entry["python_name"], [])
    given = case.args[1:] if place == "method" else case.args
    for names in forms:
        if len(given) <= len(names) and not set(case.options) - set(names[len(given):]):
            yield dict(zip(names, given)) | case.options


ROWS = [
    (place, case)
    for case in CASES
    for place in case.entry["faces"]
    if place in PLACES and case.name not in SEVERAL and any(named(case, place))
]


def test_sample_calls_have_names():
    assert len({(place, case.name) for place, case in ROWS}) > 700


@pytest.mark.parametrize("place, case", ROWS, ids=[f"{place}-{case}" for place, case in ROWS])
def test_arguments_have_pytorchs_names(place, case):
    function, refusals = case.shown_in(place), []
    if place == "method":
        receiver = tensors(case.args[:1])[0]
        function = getattr(receiver if isinstance(receiver, torch.Tensor) else torch.tensor(receiver), case.entry["python_name"])
    for options in named(case, place):
        try:
            function(**dict(zip(options, tensors(tuple(options.values())))))
            return
        except TypeError as refusal:
            refusals.append(str(refusal))
    raise AssertionError("\n".join(refusals))
