"""`opforge.compile`: functions and modules that are traced when they are first called with arguments of some kind."""

from __future__ import annotations

import copy
import functools
import warnings

from .. import _core
from .._calls import intercept as _intercept
from .._calls.tracing import NotAGraph, is_compiling, thread
from ..nn.modules.module import Module
from ._tree import NoStructure, flatten
from ._watch import state, watched

# Kinds of calls that a function keeps programs for.
_MOST = 64
_UNKNOWN = "elements are there when it runs"


def reset():
    """Has every compiled function trace anew."""
    global _generation
    _generation += 1


_generation = 0


def traced(function):
    """What a function gives that traces a graph."""
    thread.tracing = True
    try:
        return function()
    finally:
        thread.tracing = False


def trace(function, examples, step):
    """A graph of a function of a list of tensors."""
    return traced(lambda: _core._trace(function, examples, step))


def kept(programs, key, modules):
    """The programs for a kind of call. Modules, which are part of the kind, are held as long as it is; the oldest kinds are forgotten."""
    known, _ = programs.setdefault(key, ([], modules))
    if len(programs) > _MOST:
        del programs[next(iter(programs))]
    return known


class _Compiled:
    """A function's programs, by the kinds of arguments that it was called with."""

    def __init__(self, function, fullgraph):
        self._function = function
        self._fullgraph = fullgraph
        self._generation = _generation
        self._programs = {}

    def __call__(self, args, kwargs):
        if is_compiling() or _intercept.thread.modes:
            return self._function(*args, **kwargs)
        try:
            tensors, structure = flatten((args, kwargs))
        except NoStructure as error:
            return self._as_it_is(args, kwargs, f"an argument cannot be told from others: {error}")
        if self._generation != _generation:
            self._programs.clear()
            self._generation = _generation
        key, modules = self._key(structure)
        known = kept(self._programs, key, modules)
        for program, results in known:
            if program is None:
                return self._function(*args, **kwargs)
            if program.accepts(tensors) and not program.keeps:
                return self._run(program, results, tensors, args, kwargs)
        return self._first_call(known, tensors, structure, args, kwargs)

    def _key(self, structure):
        now, modules = state(watched(self._function, structure.others))
        return (structure.key, now, _core.get_default_dtype(), str(_core.get_default_device()), _intercept.thread.cast), modules

    def _first_call(self, known, tensors, structure, args, kwargs):
        if any(tensor.is_global for tensor in tensors):
            known.insert(0, (None, None))
            return self._as_it_is(args, kwargs, "it is called with global tensors, whose calls run one by one")
        results = None

        def function(tensors):
            nonlocal results
            args, kwargs = structure.build(tensors)
            flat, results = flatten(self._function(*args, **kwargs))
            return flat

        try:
            program = trace(function, tensors, False)
        except (_core.OpforgeError, NoStructure, NotAGraph) as error:
            # On tensors of other devices, global ones among them, the function says itself what is wrong, if anything is.
            may_run = isinstance(error, _core.DeviceError) or _UNKNOWN in str(error)
            if isinstance(error, _core.OpforgeError) and not may_run:
                raise
            known.insert(0, (None, None))
            return self._as_it_is(args, kwargs, str(error))
        before = next((entry for entry in known if entry[0].keeps and entry[0].accepts(tensors)), None)
        if program.keeps and before:
            return self._last(program, results, known, tensors, args, kwargs)
        if before:
            known.remove(before)
        known.insert(0, (program, results))
        del known[_MOST:]
        return self._run(program, results, tensors, args, kwargs)

    def _last(self, program, results, known, tensors, args, kwargs):
        """A call of a function that gives tensors to others each time: the last as a graph. One that does so once, to a cache, was traced again without it."""
        known.insert(0, (None, None))
        found = self._run(program, results, tensors, args, kwargs)
        reason = "it keeps tensors that it computes, or leaves gradients with tensors"
        if self._fullgraph:
            raise RuntimeError(f"compile: {_name(self._function)} is not one graph: {reason}")
        warnings.warn(f"{_name(self._function)} runs as it is, not as a graph: {reason}", stacklevel=4)
        return found

    def _run(self, program, results, tensors, args, kwargs):
        # Calls one by one see through each tensor what they change through another of the same memory.
        if program.shares_changed(tensors):
            return self._function(*args, **kwargs)
        return results.build(program(tensors))

    def _as_it_is(self, args, kwargs, reason):
        if self._fullgraph:
            raise RuntimeError(f"compile: {_name(self._function)} is not one graph: {reason}")
        warnings.warn(f"{_name(self._function)} runs as it is, not as a graph: {reason}", stacklevel=4)
        return self._function(*args, **kwargs)

    def explain(self):
        """The programs there are, as text: their calls, which of them are one kernel, and why others are not."""
        programs = [program for known, _ in self._programs.values() for program, _ in known if program is not None]
        return "\n\n".join(program.explain() for program in programs) or "no program yet"

    def profile(self, *args, **kwargs):
        """A table of the kernels of such a call: their times, medians of some runs, the memory that they touch, and how near they are to the machine's limits."""
        program, tensors = self._of_call(args, kwargs)
        return program.measure(tensors)

    def draw(self, *args, **kwargs):
        """The program of such a call as a picture, the text of an SVG file: its kernels, their calls, and what passes between them in memory."""
        program, _ = self._of_call(args, kwargs)
        return program.draw()

    def _of_call(self, args, kwargs):
        """The program for such calls, which is made if there is none yet, and the call's tensors."""
        self(args, kwargs)
        tensors, structure = flatten((args, kwargs))
        known, _ = self._programs.get(self._key(structure)[0], ([], None))
        program = next((program for program, _ in known if program is not None and program.accepts(tensors)), None)
        if program is None:
            raise RuntimeError(f"{_name(self._function)} runs as it is, not as a graph")
        return program, tensors


def _name(function):
    return getattr(function, "__qualname__", None) or type(function).__name__


class CompiledModule(Module):
    """A module whose calls are graphs. It has the parameters, buffers, attributes and modes of the module that it was made of, and these names in
    its state.
    """

    def __init__(self, module, fullgraph):
        # It has no parameters of its own, nor anything else that modules have.
        self.__dict__.update(_orig_mod=module, _fullgraph=fullgraph, _compiled=_Compiled(module, fullgraph))

    def __call__(self, *args, **kwargs):
        return self._compiled(args, kwargs)

    forward = __call__

    def __getattr__(self, name):
        if "_orig_mod" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["_orig_mod"], name)

    def __deepcopy__(self, memo):
        return CompiledModule(copy.deepcopy(self._orig_mod, memo), self._fullgraph)

    def __reduce__(self):
        return CompiledModule, (self._orig_mod, self._fullgraph)

    def __setattr__(self, name, value):
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return bool(self._orig_mod)

    def __iter__(self):
        return iter(self._orig_mod)

    def __contains__(self, item):
        return item in self._orig_mod

    def __dir__(self):
        return sorted({*dir(type(self)), *dir(self._orig_mod)})

    def __repr__(self):
        return f"CompiledModule({self._orig_mod!r})"

    def explain(self):
        """The programs there are, as text: their calls, which of them are one kernel, and why others are not."""
        return self._compiled.explain()

    def profile(self, *args, **kwargs):
        """A table of the kernels of such a call: their times, medians of some runs, the memory that they touch, and how near they are to the machine's limits."""
        return self._compiled.profile(*args, **kwargs)

    def draw(self, *args, **kwargs):
        """The program of such a call as a picture, the text of an SVG file: its kernels, their calls, and what passes between them in memory."""
        return self._compiled.draw(*args, **kwargs)


# What is asked of a compiled module is asked of its own: parameters, states, modes, hooks of another module's would be those of nothing.
def _forward_to_module():
    own = set(CompiledModule.__dict__)
    for name in dir(Module):
        if name.startswith("__") or name in own or not callable(getattr(Module, name)):
            continue

        def method(self, *args, _name=name, **kwargs):
            result = getattr(self._orig_mod, _name)(*args, **kwargs)
            return self if result is self._orig_mod else result

        setattr(CompiledModule, name, functools.wraps(getattr(Module, name))(method))


_forward_to_module()


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """A function or module whose calls are traced once for each kind of arguments, and then run as one kernel.

    The first call with tensors of other shapes, dtypes, strides or needs of gradients than before, or with other values besides tensors, runs the
    function in order to write down what it calls; later ones run what was written. Gradients flow through it, and what is changed in place is changed by
    each call. Parameters, buffers and modes of modules, their attributes that are numbers or strings, and tensors, numbers and strings are seen as they
    are at each call if they are the function's own, in its closure, its defaults, or globals that it names: others in their place are another kind of
    call. What else the function reads, numbers in lists for example, is that of the first call.

    A call whose arguments share memory that it changes, with each other or with tensors of the function's own, runs as it is.

    Custom operators in Python (`opforge.custom_op`, `opforge.library`) are called by each call too, between kernels, if a fake tells what they give.

    A function that reads elements, as `item()` and conditions on tensors do, or sets the state of random numbers, runs as it is, with a warning; with `fullgraph=True` that is an error.
    `dynamic`, `backend`, `mode` and `options` are what PyTorch's programs give: there is one way to compile here, and any shape is quick.

    What is returned tells of itself: `explain()` gives its kernels, and why they are several; `profile(*args)` their times for such a call; `draw(*args)` a
    picture of them, the text of an SVG file.

    >>> @opforge.compile
    ... def f(x, y):
    ...     return (x * y + 1).relu().sum()
    >>> f(opforge.ones(3), opforge.ones(3)).item()
    6.0
    >>> print(f.explain())
    kernel 0: 4 calls, 28 bytes
        mul f32[3]
        affine f32[3]
        relu f32[3]
        sum f32[]
    0 bytes between kernels
    <BLANKLINE>
    """
    if model is None:
        again = functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
        return again
    if not callable(model):
        raise TypeError(f"compile(): a function or a module is to be compiled, not {type(model).__name__}")
    if disable or isinstance(model, CompiledModule):
        return model
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph)
    compiled = _Compiled(model, fullgraph)

    @functools.wraps(model)
    def call(*args, **kwargs):
        return compiled(args, kwargs)

    call.explain, call.profile, call.draw = compiled.explain, compiled.profile, compiled.draw
    return call
