"""What the comparison beside PyTorch must notice; both sides are opforge's here, and the difference is planted."""

import base64
import json
import math
import sys

import numpy as np
import opforge as torch
import pytest

from differential import generate
from differential.compare import difference
from differential.known import KNOWN
from differential.pair import Side
from fuzz.calls import Argument, Call
from fuzz.declared import arrays
from fuzz.values import Array, Setup

X = Array((2, 3), "float64", (1.0, 2.0, 3.0), grad="leaf")


@pytest.fixture(scope="module")
def observed():
    """What calls give."""
    side = Side(sys.executable, "opforge", 60.0)

    def observe(path, *values):
        call = Call("planted", path, tuple(map(Argument, values)))
        side.send(json.dumps(call.program().data()).encode() + b"\n")
        return side.answer()

    yield observe
    side.close()


# Pairs of functions, and the kind of what differs between them.
PLANTED = [
    ("torch.neg", "torch.abs", "value"),
    ("torch.neg", "torch.argmax", "shape"),
    ("(lambda x: x > 0)", "(lambda x: (x > 0).int())", "dtype"),
    ("(lambda x: (x, x))", "(lambda x: x)", "results"),
    ("(lambda x: x.detach().add_(1) * 0)", "(lambda x: x.detach() * 0)", "argument"),
    ("(lambda x: x.detach())", "(lambda x: x * 1)", "gradient"),
    ("(lambda x: x * x)", "(lambda x: x * x.detach())", "gradient"),
    ("(lambda x: x * x)", "(lambda x: (x * x).detach() + 2 * x.detach() * (x - x.detach()))", "second gradient"),
    ("torch.neg", "(lambda x: [][1])", "refuses"),
    ("(lambda x: [][1])", "torch.neg", "accepts"),
    ("(lambda x: [][1])", "(lambda x: {}[1])", "class"),
    ("torch.neg", "(lambda x: __import__('os').abort())", "died"),
    ("torch.nan_to_num", "(lambda x: x / 0 * 0)", "value"),
]


@pytest.mark.parametrize("theirs, ours, kind", PLANTED)
def test_differences_are_noticed(observed, theirs, ours, kind):
    assert difference(observed(theirs, X), observed(ours, X)).kind == kind


@pytest.mark.parametrize("path", ["torch.exp", "torch.sort", "torch.Tensor.tolist", "(lambda x: [][1])", "torch.linalg.svdvals"])
def test_what_is_equal_is_not_noticed(observed, path):
    assert difference(observed(path, X), observed(path, X)) is None


def test_rounding_is_no_difference(observed):
    observation = observed("torch.exp", X)
    near = json.loads(json.dumps(observation))
    values = np.frombuffer(base64.b64decode(near["results"][0]["data"])) * (1 + 1e-12)
    near["results"][0]["data"] = base64.b64encode(values.tobytes()).decode()
    assert difference(observation, near) is None
    values = values * (1 + 1e-6)
    near["results"][0]["data"] = base64.b64encode(values.tobytes()).decode()
    assert difference(observation, near).kind == "value"


def test_a_seed_and_a_number_name_a_call():
    calls = lambda seed: [generate.call(seed, n).program() for n in range(50)]  # noqa: E731
    assert calls(1) == calls(1) != calls(2)


def test_most_calls_are_ones_that_users_make(observed):
    side = Side(sys.executable, "opforge", 60.0)
    ends = []
    for n in range(200):
        side.send(json.dumps(generate.call(5, n).program().data()).encode() + b"\n")
        ends.append(side.answer()["kind"])
    side.close()
    assert ends.count("fine") > 90 and "died" not in ends


LENGTHENED = ["exp", "add", "lerp", "sum", "cumsum", "sort", "matmul", "softmax", "layer_norm", "index_select", "gather", "cat", "topk", "flip"]


@pytest.mark.parametrize("name", LENGTHENED)
def test_lengthened_calls_are_of_long_tensors_and_succeed(name):
    side = Side(sys.executable, "opforge", 60.0)
    elements, ends = [], []
    for n in range(20):
        call = generate.call(5, n, name, long=True)
        elements.append(max((math.prod(array.shape) for a in call.arguments for array in arrays(a.value)), default=0))
        side.send(json.dumps(call.program().data()).encode() + b"\n")
        ends.append(side.answer()["kind"])
    side.close()
    assert 10_000 < max(elements) <= generate.MANY and sum(n > 200 for n in elements) > 2
    assert ends.count("fine") > 4 and "died" not in ends


def test_mixed_elements_have_no_period():
    setup = Setup()
    Array((2000,), "int64", (1, 2, 3), mixed=True).source(setup)
    values = eval(setup.lines[0][1], {"torch": torch}).tolist()
    assert set(values) == {1, 2, 3} and not any(values[:-k] == values[k:] for k in range(1, 1500))


def test_every_meant_difference_has_a_reason():
    assert all(known.reason and (known.text or known.source or "value" in known.kinds) for known in KNOWN)
