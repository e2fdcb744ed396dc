"""`export`, `save` and `load`."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from .. import _core
from ..autograd.grad_mode import no_grad
from ..graph._programs import traced
from ..graph._tree import NoStructure, flatten
from ..nn.modules.module import Module
from ._dataclasses import packed, unpacked
from ._dims import Spec
from ._files import extracted, written
from ._module import ExportedModule, called, check_beside, names_beside
from ._structure import count, decode, encode

# The file of what is not the graph's: structures of arguments and results, and names. The others are the graph's.
_STRUCTURE = "program.json"
_FILES = (_STRUCTURE, "graph.txt", "weights.safetensors")
_VERSION = 1


class ValueRange(NamedTuple):
    """What a length can be; `upper` is None where nothing is too much."""

    lower: int
    upper: int | None


class ExportedProgram:
    """A module's graph for arguments of given dtypes, values, and shapes but for what is free: `export` makes it, `module()` calls it, `str()` shows its calls.

    It computes no gradients. What the module changes in place, as batch norm does in train mode, each call changes; drawn numbers are drawn anew. Until
    it is saved and loaded it shares the module's parameters and buffers.
    """

    def __init__(self, graph, about):
        self._graph = graph
        self._about = about

    def module(self):
        """The program as a module: a function of arguments like those that it was exported with, with the parameters and buffers that it uses."""
        return ExportedModule(self)

    @property
    def state_dict(self):
        """The parameters and buffers that the graph uses, by their names in the module."""
        weights = self._graph.weights
        return {name: weights[name] for name in self._about["parameters"] + self._about["buffers"]}

    @property
    def constants(self):
        """The other tensors that the graph holds."""
        named = {*self._about["parameters"], *self._about["buffers"]}
        return {name: tensor for name, tensor in self._graph.weights.items() if name not in named}

    @property
    def range_constraints(self):
        """The lengths that are free, by name, each with the least and the most that it can be."""
        return {name: ValueRange(lower, upper) for name, lower, upper in self._graph.sizes}

    def named_parameters(self):
        """The parameters that the graph uses, with their names."""
        state = self.state_dict
        return ((name, state[name]) for name in self._about["parameters"])

    def parameters(self):
        """The parameters that the graph uses."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self):
        """The buffers that the graph uses, with their names."""
        state = self.state_dict
        return ((name, state[name]) for name in self._about["buffers"])

    def buffers(self):
        """The buffers that the graph uses."""
        return (buffer for _, buffer in self.named_buffers())

    def __str__(self):
        return str(self._graph)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("an ExportedProgram is called by its module: program.module()(..)")

    def _run(self, args, kwargs, parameters=()):
        tensors, given = _flat(args, kwargs)
        # As text: 1 and True are equal, and not the same.
        given, expected = (json.dumps(tree) for tree in (encode(given.key, "arguments"), self._about["arguments"]))
        if given != expected:
            raise TypeError(f"the exported module takes arguments like those of export(): given {given}, expected {expected}")
        return unpacked(decode(self._about["results"], iter(called(self._graph, tensors, parameters))))


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False):
    """The graph of a module's call with these arguments, as an ExportedProgram.

    The call is traced: nothing is computed, and a module that reads elements, as `item()` and conditions on tensors do, is refused with the line that
    does. Tensors are the graph's arguments; numbers, strings and None, as everything else that the module reads, are part of it, and so is `training`.
    `strict` is what PyTorch's programs give; there is one way to trace here.

    Shapes are those of the arguments, except for dimensions that `dynamic_shapes` says are free: by names of arguments or in their order, for each tensor a
    dictionary of dimensions or a tuple of all, for tuples and dictionaries of tensors the same of tensors. A dimension is a `Dim`, or one of its hints. The
    module is then called some twenty times for each `Dim`, with tensors of different lengths, and has to make the same calls each time; numbers among
    their arguments may be sums and products of the lengths, and quotients.

    >>> batch = opforge.export.Dim("batch")
    >>> exported = opforge.export.export(opforge.nn.Linear(2, 3), (opforge.ones(4, 2),), dynamic_shapes={"input": {0: batch}})
    >>> exported.module()(opforge.ones(7, 2)).shape
    torch.Size([7, 3])
    """
    if not isinstance(mod, Module):
        raise TypeError(f"export(): a module is to be exported, not {type(mod).__name__}")
    if not isinstance(args, tuple):
        raise TypeError(f"export(): args is a tuple of arguments, not {type(args).__name__}")
    try:
        tensors, arguments = _flat(args, kwargs or {})
        about = {"version": _VERSION, "arguments": encode(arguments.key, "arguments")}
        named = _named(mod)
        spec = Spec(mod.forward, packed(args), packed(kwargs or {}), {} if dynamic_shapes is None else dynamic_shapes)
        graph, about["results"] = _freest(mod, tensors, arguments, named, spec)
    except NoStructure as error:
        raise TypeError(f"export(): {error}") from None
    used = graph.weights
    parameters = {name for name, _ in mod.named_parameters()}
    about["parameters"] = [name for name in named if name in used and name in parameters]
    about["buffers"] = [name for name in named if name in used and name not in parameters]
    about |= names_beside(mod, named, used)
    return ExportedProgram(graph, about)


def _flat(args, kwargs):
    """The tensors of arguments and their structure, whatever the order of names."""
    return flatten(packed((args, dict(sorted(kwargs.items())))))


def _named(mod):
    """Parameters and buffers, each once."""
    return {**dict(mod.named_parameters()), **dict(mod.named_buffers())}


def _freest(mod, tensors, arguments, named, spec):
    """As `_traced`, with as much free as the hints allow."""
    *freer, last = spec.choices()
    for choice in freer:
        try:
            return _traced(mod, tensors, arguments, named, choice)
        except (RuntimeError, TypeError, ValueError, IndexError):
            pass
    return _traced(mod, tensors, arguments, named, last)


def _traced(mod, tensors, arguments, named, choice):
    """The graph, and the structure of its results."""
    results = None

    def function(tensors):
        nonlocal results
        args, kwargs = unpacked(arguments.build(tensors))
        flat, structure = flatten(packed(mod(*args, **kwargs)))
        encoded = encode(structure.key, "results")
        if results not in (None, encoded):
            raise TypeError(f"export(): results depend on free lengths: {results} and {encoded}")
        results = encoded
        return flat

    with no_grad():
        graph = traced(lambda: _core._export(function, tensors, list(named), list(named.values()), *choice))
    return graph, results


def save(ep, f):
    """Writes an exported program to a directory, which is made if it is not there: its graph as text, its tensors as `weights.safetensors`, and the
    structure of arguments and results. A write that fails leaves what was there before. From Rust, `opforge_graph::Graph::load` reads it.

    `f` may be an object that is open for writing instead: these files are then one zip archive in it.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> save(export(opforge.nn.ReLU(), (opforge.ones(2),)), buffer)
    >>> load(buffer).module()(opforge.tensor([-1.0, 3.0])).tolist()
    [0.0, 3.0]
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"save(): an ExportedProgram is to be saved, not {type(ep).__name__}")
    if hasattr(f, "write"):
        with written(f) as directory:
            save(ep, directory)
        return
    ep._graph.save(os.fspath(f), [(_STRUCTURE, json.dumps(ep._about, indent=1))])


def load(f):
    """The exported program of a directory, or of an archive: a file's path, or an object that is open for reading. Its tensors have memory of their own.
    No code is read."""
    if hasattr(f, "read"):
        with extracted(f, _FILES, getattr(f, "name", None) or type(f).__name__) as directory:
            return load(directory)
    path = os.fspath(f)
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return load(file)
    graph = _core._load_graph(path)
    file = os.path.join(path, _STRUCTURE)
    with open(file, encoding="utf-8") as text:
        try:
            about = json.load(text)
            _check(about, graph)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file}: {error}") from None
    return ExportedProgram(graph, about)


def _check(about, graph):
    if not isinstance(about, dict) or about.get("version") != _VERSION:
        raise ValueError(f"version {_VERSION} of programs was expected")
    counts = count(about.get("arguments")), count(about.get("results"))
    if counts != graph.counts:
        raise ValueError(f"{counts} arguments and results, where the graph has {graph.counts}")
    match about["arguments"]:
        case {"tuple": [{"tuple": _}, {"dict": _}]}:
            pass
        case _:
            raise ValueError("arguments are a tuple and a dictionary")
    names = [about.get("parameters"), about.get("buffers")]
    if not all(isinstance(some, list) and all(isinstance(name, str) and name in graph.weights for name in some) for some in names):
        raise ValueError("names of parameters and buffers that the graph does not have")
    check_beside(about)
