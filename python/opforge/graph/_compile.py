"""`opforge.compile`: functions and modules whose calls are graphs."""

from __future__ import annotations

import copy
import functools

from ..nn.modules.module import Module
from ._programs import Compiled


class CompiledModule(Module):
    """A module whose calls are graphs. It has the parameters, buffers, attributes and modes of the module that it was made of, and these names in
    its state.
    """

    def __init__(self, module, fullgraph):
        # It has no parameters of its own, nor anything else that modules have.
        self.__dict__.update(_orig_mod=module, _fullgraph=fullgraph, _compiled=Compiled(module, fullgraph))

    def __call__(self, *args, **kwargs):
        return self._compiled(args, kwargs)

    forward = __call__

    def __getattr__(self, name):
        if "_orig_mod" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["_orig_mod"], name)

    def load_state_dict(self, state_dict, *args, **kwargs):
        """As the module's own; PyTorch's states of compiled modules, whose names begin with `_orig_mod.`, are taken too."""
        if state_dict and all(name.startswith("_orig_mod.") for name in state_dict):
            state_dict = {name.removeprefix("_orig_mod."): value for name, value in state_dict.items()}
        return self._orig_mod.load_state_dict(state_dict, *args, **kwargs)

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
    each call. Parameters, buffers, modes and attributes of modules, tensors, numbers, strings, containers and objects are seen as they are at each call if they
    are the function's own, in its closure, its defaults, globals that it names, or what it names of modules and classes: others in their place are another kind
    of call. So are other elements where it reads those of tensors around it, as `item()` does, and calls in which tensors keep gradients that kept none
    before, where the function reads or replaces `.grad`. What lies deeper than eight functions, containers and objects, containers of more than 1024 items, arrays of NumPy's of more than 1024 bytes, and objects of
    Python's own but containers and namespaces, are told apart by which they are, and what is in them is that of the first call.

    A call whose arguments share memory that it changes, with each other or with tensors of the function's own, runs as it is. So do functions that change
    attributes, variables or containers in each call, or give others tensors besides gradients, that draw Python's random numbers, or are called with something else
    each time: with a warning, and after the function has done what it does as often as it was called.

    Custom operators in Python (`opforge.custom_op`, `opforge.library`) are called by each call too, between kernels, if a fake tells what they give.

    A function that reads elements of what it computes, as `item()` and conditions on tensors do, or sets the state of random numbers, runs as it is, with a warning; with `fullgraph=True` that is an error.
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
    compiled = Compiled(model, fullgraph)

    @functools.wraps(model)
    def call(*args, **kwargs):
        return compiled(args, kwargs)

    call.explain, call.profile, call.draw = compiled.explain, compiled.profile, compiled.draw
    return call
