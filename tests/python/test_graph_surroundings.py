"""What compiled functions read and change around them, wherever it is: each is as it is, and done as often, as by functions that run as they are."""

import collections
import functools
import random
import re
import threading
import types
import warnings
import weakref

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


class Odd:
    """Refuses to be compared, tested and asked."""

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = object.__hash__

    def __bool__(self):
        raise RuntimeError("no truth")

    @property
    def value(self):
        raise RuntimeError("no value")


class WithoutCopies(dict):
    def copy(self):
        raise RuntimeError("no copies")


def _in_itself():
    values = []
    values.append(values)
    return values


ANYTHING = [
    frozenset({1}), (1, [2]), {1}, collections.deque([1], maxlen=3), b"ab", bytearray(b"ab"), range(5), slice(1, 2), ..., NotImplemented, 1j, 10**30, float("nan"),
    collections.defaultdict(list, {1: [2]}), collections.ChainMap({1: 2}), types.MappingProxyType({1: 2}), WithoutCopies(a=1), Odd(), Odd, int, len, [].append, _in_itself(), list(range(5000)),
    set(range(5000)), threading.Lock(), threading.local(), weakref.WeakValueDictionary(), functools.lru_cache(len), random.Random(1), re.compile("a"), types.CellType(), memoryview(b"ab"), property(len),
    np.int64(3), np.array(3.0), np.array([1, "a", None], dtype=object), np.zeros(2, dtype=[("a", "i4")]), np.zeros(1, dtype=[("a", "i4")])[0], np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.ma.array([1, 2], mask=[0, 1]), np.broadcast_to(np.ones(1), (3,)), np.zeros(0), np.dtype("f4"), np.add, np.random.default_rng(0), torch.ones(2), torch.Size([1]), torch.float32, torch.Generator(), nn.Linear(2, 2),
]  # fmt: skip


@pytest.mark.parametrize("value", ANYTHING, ids=lambda value: type(value).__name__)
def test_anything_may_be_around_a_function(value):
    class Holding(Counts):
        def __init__(self):
            super().__init__()
            self.value, self.values = value, [value]

    space = types.SimpleNamespace(value=value)
    functions = [lambda x: (value, x)[1], lambda x, given=value, values=(value,): x, lambda x: (space.value, x)[1], functools.partial(lambda given, x: x, value), Reader(value, lambda given: 1)]
    for function in functions:
        compiled = torch.compile(function)
        assert compiled(ONE).item() == compiled(ONE).item() == 1
    module = Holding()
    once(module)
    assert module.calls == 1
