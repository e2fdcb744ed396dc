"""What compiled functions read and change around them, wherever it is: each is as it is, and done as often, as by functions that run as they are."""

import collections
import functools
import types
import warnings

import numpy as np
import pytest

import opforge as torch
from opforge import nn

ONE = torch.ones(1)


class Slotted:
    __slots__ = ("k", "__hidden")

    def __init__(self, k):
        self.k, self.__hidden = k, k

    @property
    def hidden(self):
        return self.__hidden

    @hidden.setter
    def hidden(self, value):
        self.__hidden = value


class Items(list):
    pass


Named = collections.namedtuple("Named", "items")


class Reader(nn.Module):
    def __init__(self, value, read):
        super().__init__()
        self.value, self.read = value, read

    def forward(self, x):
        return x * self.read(self.value)


@pytest.mark.parametrize(
    "value, read, change",
    [
        (Slotted(1), lambda v: v.k, lambda v: setattr(v, "k", 3)),
        (Slotted(1), lambda v: v.hidden, lambda v: setattr(v, "hidden", 3)),
        (np.ones(2), lambda v: float(v[0]), lambda v: v.fill(7)),
        ({1}, len, lambda v: v.add(2)),
        (collections.deque([1]), len, lambda v: v.append(2)),
        (Items([1]), len, lambda v: v.append(2)),
        (Named([2.0]), lambda v: v.items[0], lambda v: v.items.append(v.items.pop() + 3)),
        ([[[[[[1.0]]]]]], lambda v: v[0][0][0][0][0][0], lambda v: v[0][0][0][0][0].append(v[0][0][0][0][0].pop() + 1)),
        (types.SimpleNamespace(a=[1.0]), lambda v: v.a[0], lambda v: v.a.append(v.a.pop() + 1)),
        ({"a": Slotted(2)}, lambda v: v["a"].k, lambda v: setattr(v["a"], "k", 5)),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_module", [True, False])
def test_what_a_function_reads_is_as_it_is_now(value, read, change, is_module):
    function = Reader(value, read) if is_module else lambda x: x * read(value)
    compiled = torch.compile(function)
    for _ in range(2):
        assert compiled(ONE).item() == read(value)
    change(value)
    assert compiled(ONE).item() == read(value)


TOTAL = 0
LOG = []


class Settings:
    calls = 0


SPACE = types.ModuleType("users_space")
SPACE.calls = 0


def chosen(x):
    """What cannot be traced."""
    return x if x.sum() > 0 else -x


class CountsGlobally(nn.Module):
    def forward(self, x):
        global TOTAL
        TOTAL += 1
        LOG.append(1)
        return chosen(x)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return chosen(x)


def nested(module, levels):
    return module if levels == 0 else nn.Sequential(nested(module, levels - 1))


def once(function):
    """Calls the compiled function once, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(function)(ONE)


def test_a_module_that_cannot_be_traced_changes_globals_once():
    total, logged = TOTAL, len(LOG)
    once(CountsGlobally())
    assert (TOTAL, len(LOG)) == (total + 1, logged + 1)


@pytest.mark.parametrize("levels", [0, 2, 6])
def test_a_module_that_cannot_be_traced_changes_its_attributes_once(levels):
    module = Counts()
    once(nested(module, levels))
    assert module.calls == 1


def test_a_function_that_cannot_be_traced_changes_objects_classes_and_modules_once():
    counter, array, log = Slotted(0), np.zeros(2), []
    long_log = [0] * 2000

    def function(log, x):
        counter.k += 1
        Settings.calls += 1
        SPACE.calls += 1
        array[0] += 1
        log.append(1)
        long_log.append(1)
        return chosen(x)

    calls = Settings.calls, SPACE.calls
    once(functools.partial(function, log))
    assert (counter.k, array[0], len(log), len(long_log)) == (1, 1.0, 1, 2001)
    assert (Settings.calls, SPACE.calls) == (calls[0] + 1, calls[1] + 1)
