"""Functions that are traced when they are first called with arguments of some kind, with their programs."""

from __future__ import annotations

import sys
import warnings

from .. import _core
from .._calls import intercept as _intercept
from .._calls.tracing import NotAGraph, is_compiling, thread
from ..func import _levels
from ._surroundings import Around, surroundings
from ._tree import NoStructure, flatten, once

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


class _Entry:
    """A program, with the structure of its results, and for each of them the place of the argument that it is, None where the program gives it (for all, if it
    gives them all). `keeps` is whether the function, when it was traced, changed something besides tensors, or gave others tensors that it computes: only the function itself, called by
    itself, does that again."""

    __slots__ = ("program", "results", "places", "keeps")

    def __init__(self, program, results, places, keeps):
        self.program, self.results, self.keeps = program, results, keeps
        self.places = None if all(place is None for place in places) else places

    def run(self, tensors):
        """What the function gives for these arguments."""
        computed = self.program(tensors)
        if self.places is not None:
            rest = iter(computed)
            computed = [next(rest) if place is None else tensors[place] for place in self.places]
        return self.results.build(computed)


# How often a function is traced for tensors of one kind, because something else that it reads has changed.
_MOST_ALIKE = 4
# How many kinds of calls, none of which comes again, make a function one that is not traced any more.
_MOST_MISSES = 16
# In the place of the programs of a kind of calls that run one by one.
_ONE_BY_ONE = object()


class Compiled:
    """A function's programs, by the kinds of arguments that it was called with."""

    def __init__(self, function, fullgraph):
        self._function = function
        self._fullgraph = fullgraph
        self._forget()

    def _forget(self):
        self._generation = _generation
        self._programs = {}
        # By kinds without their tensors: True where such a call that keeps something was traced once, or that they run one by one.
        self._kept = {}
        self._misses = 0  # kinds of calls in a row, each of which was another
        self._is_given_up = False

    def __call__(self, args, kwargs):
        if is_compiling() or _intercept.thread.modes or _levels.is_inside():
            return self._function(*args, **kwargs)
        try:
            tensors, structure = flatten((args, kwargs))
        except NoStructure as error:
            return self._as_it_is(args, kwargs, f"an argument cannot be told from others: {error}")
        if self._generation != _generation:
            self._forget()
        if self._is_given_up:
            return self._function(*args, **kwargs)
        tensors, places = once(tensors)
        key, modules = self._key(structure, places)
        known = kept(self._programs, key, modules)
        for entry in known:
            if entry is _ONE_BY_ONE:
                return self._function(*args, **kwargs)
            if not entry.keeps and entry.program.accepts(tensors):
                self._misses = 0
                return self._run(entry, tensors, args, kwargs)
        return self._first_call(key, known, tensors, structure, args, kwargs)

    def _key(self, structure, places):
        """The key of a kind of calls, in which tensors may be given more than once, and the modules that are part of it."""
        now, modules = surroundings.key(self._function, structure.others)
        return ((structure.key, places), now, _core.get_default_dtype(), str(_core.get_default_device()), _intercept.thread.cast), modules

    def _kind(self, key):
        """A kind of calls, whichever tensors it reads besides its arguments."""
        structure, now, *rest = key
        return structure, now[:-1], *rest

    def _first_call(self, key, known, tensors, structure, args, kwargs):
        kind, places = self._kind(key), key[0][1]
        if self._kept.get(kind) is _ONE_BY_ONE:
            return self._function(*args, **kwargs)
        if any(tensor.is_global for tensor in tensors):
            return self._one_by_one(known, args, kwargs, "it is called with global tensors, whose calls run one by one")
        self._misses += not known
        if self._misses > _MOST_MISSES and not self._fullgraph:
            self._is_given_up = True
            return self._as_it_is(args, kwargs, "something that it reads besides tensors is another in each call")
        results, given_back = None, []

        def function(tensors):
            nonlocal results
            given = tensors if places is None else [tensors[place] for place in places]
            args, kwargs = structure.build(given)
            flat, results = flatten(self._function(*args, **kwargs))
            if not structure.is_of((args, kwargs), given):
                raise NotAGraph("it changes a container among its arguments")
            if around.has_drawn():
                raise NotAGraph("it draws random numbers of Python's or NumPy's")
            own = {id(tensor): place for place, tensor in enumerate(tensors)}
            given_back[:] = [own.get(id(tensor)) for tensor in flat]
            return [tensor for tensor, place in zip(flat, given_back) if place is None]

        around = Around(self._function, structure.others)
        if around.has_iterators:
            return self._one_by_one(known, args, kwargs, "it goes on with an iterator")
        try:
            program = trace(function, tensors, False)
        except BaseException as error:
            around.restore()
            if not isinstance(error, Exception):
                raise
            return self._failed(known, args, kwargs, error)
        entry = _Entry(program, results, given_back, program.keeps or around.has_changed())
        alike = [other for other in known if other.program.fits(tensors)]
        if entry.keeps and kind in self._kept or len(alike) == _MOST_ALIKE:
            self._kept[kind] = _ONE_BY_ONE
            return self._last(entry, tensors, args, kwargs)
        if entry.keeps:
            self._kept[kind] = True
            if len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        for other in alike:
            if other.keeps:
                known.remove(other)
        known.insert(0, entry)
        del known[_MOST:]
        return self._run(entry, tensors, args, kwargs)

    def _failed(self, known, args, kwargs, error):
        """A call that cannot be traced. What fails by itself fails so again, and has then done what it does before it does."""
        reason = str(error)
        is_no_graph = isinstance(error, (NoStructure, NotAGraph, _core.DeviceError)) or _UNKNOWN in reason
        if self._fullgraph and is_no_graph:
            raise RuntimeError(f"compile: {name_of(self._function)} is not one graph: {reason}") from error
        found = self._function(*args, **kwargs)
        known.insert(0, _ONE_BY_ONE)
        self._tell(reason)
        return found

    def _last(self, entry, tensors, args, kwargs):
        """A call of a function that does each time what graphs do not: the last as a graph, as it was traced now. One that does so once, as to fill a cache,
        was traced again without it."""
        found = self._run(entry, tensors, args, kwargs)
        self._tell(
            "it keeps tensors that it computes"
            if entry.program.keeps
            else "it changes attributes, variables or containers"
            if entry.keeps
            else "elements that it reads, or which tensors keep gradients, are others in each call"
        )
        return found

    def _run(self, entry, tensors, args, kwargs):
        # Calls one by one see through each tensor what they change through another of the same memory.
        if entry.program.shares_changed(tensors):
            return self._function(*args, **kwargs)
        return entry.run(tensors)

    def _one_by_one(self, known, args, kwargs, reason):
        known.insert(0, _ONE_BY_ONE)
        return self._as_it_is(args, kwargs, reason)

    def _as_it_is(self, args, kwargs, reason):
        self._tell(reason)
        return self._function(*args, **kwargs)

    def _tell(self, reason):
        """Warns that calls are no graph, or raises RuntimeError where they must be one."""
        if self._fullgraph:
            raise RuntimeError(f"compile: {name_of(self._function)} is not one graph: {reason}")
        depth, frame = 2, sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") == __name__:
            depth, frame = depth + 1, frame.f_back
        warnings.warn(f"{name_of(self._function)} runs as it is, not as a graph: {reason}", stacklevel=depth)

    def explain(self):
        """The programs there are, as text: their calls, which of them are one kernel, and why others are not."""
        programs = [entry.program for known, _ in self._programs.values() for entry in known if entry is not _ONE_BY_ONE]
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
        tensors, places = once(tensors)
        known, _ = self._programs.get(self._key(structure, places)[0], ([], None))
        programs = (entry.program for entry in known if entry is not _ONE_BY_ONE)
        program = next((program for program in programs if program.accepts(tensors)), None)
        if program is None:
            raise RuntimeError(f"{name_of(self._function)} runs as it is, not as a graph")
        return program, tensors


def name_of(function):
    return getattr(function, "__qualname__", None) or type(function).__name__
