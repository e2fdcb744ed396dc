"""A training step as the planner calls it, and its variables: inputs, weights, and what submodules give."""

from __future__ import annotations

import re

from .. import _core


class Step:
    """A step of a module on a sample, whose `loss` is made of what the module gives (its sum without one); or of an `nn.Graph`, which differentiates by itself. It ends with an
    optimizer's step if there is one.

    `variables` are what the planner decides on: name, shape and kind; `lies` the number of the variable that a tensor lies as, by name, with `()` behind the names of
    submodules for what these give; `members` the tensors that a call gets, in order: dtype, shape, and the variable, which buffers have none of.
    """

    def __init__(self, module, sample, loss, optimizer):
        self.module, self.sample, self.optimizer = as_module(module), sample, optimizer
        is_graph, module = self.module is not module, self.module
        if is_graph and loss is not None:
            raise TypeError("plan: a graph has its own loss, loss= is for modules")
        self.loss = None if is_graph else loss or _sum
        self.parameters = dict(module.named_parameters())
        buffers = dict(module.named_buffers())
        tensors = {f"input {i}": one for i, one in enumerate(sample) if isinstance(one, _core.Tensor)} | self.parameters | buffers
        self.names = list(tensors)
        self.shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        self.variables, self.members, self.lies, self.activations, self._numbers = [], [], {}, [], {}
        for name, tensor in tensors.items():
            if name not in buffers:
                self._decide(name, "input" if name.startswith("input ") else "weight")
            self.members.append((tensor.dtype, list(self.shapes[name]), self.lies.get(name)))

    def find_activations(self, planner):
        """Calls the step once, to see what submodules give; what one gives on from another, as containers do, is that one's."""
        made = {}

        def see(name, one):
            if isinstance(one, _core.Tensor) and one.is_global and one.ndim and all(one is not other for other in made.values()):
                made.setdefault(name, one)

        with _Hooks(self.module.named_modules(), see):
            planner.run(self)
        self.activations = list(made)
        for name, one in made.items():
            self.shapes[f"{name}()"] = tuple(one.shape)
            self._decide(f"{name}()", "activation")

    def __call__(self, tensors, lies):
        from ..func import functional_call

        named = dict(zip(self.names, tensors))
        given = [named.pop(f"input {i}", one) for i, one in enumerate(self.sample)]
        trained = [named[name].requires_grad_(parameter.requires_grad) for name, parameter in self.parameters.items()]
        decided = {name: lies[self.lies[f"{name}()"]] for name in self.activations}
        decided = {name: those for name, those in decided.items() if any(those)}
        modules = [(name, self.module.get_submodule(name)) for name in decided]
        with _Hooks(modules, lambda name, one: laid(one, decided[name])):
            made = functional_call(self.module, named, tuple(given))
            if self.loss is not None:
                self.loss(made).backward()
        if self.optimizer is not None:
            self.optimizer([one for one in trained if one.requires_grad]).step()

    def _decide(self, name, kind):
        """A variable for what is called so: of inputs one each, of others one for all of a shape whose names differ in numbers only."""
        key = name if kind == "input" else (re.sub(r"\d+", "#", name), self.shapes[name])
        variable = self._numbers.setdefault(key, len(self._numbers))
        if variable == len(self.variables):
            self.variables.append((name, list(self.shapes[name]), kind))
        self.lies[name] = variable


def as_module(module):
    """A module, or that of an `nn.Graph`."""
    from ..graph import Graph

    return module.as_module() if isinstance(module, Graph) else module


class _Hooks:
    """Forward hooks of modules while it is entered: `call` gets the module's name and what it gives, and may give something in its place."""

    def __init__(self, modules, call):
        self.modules, self.call = list(modules), call

    def __enter__(self):
        self.handles = [one.register_forward_hook(lambda _, given, made, name=name: self.call(name, made)) for name, one in self.modules]

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def laid(made, lies):
    """What a module gives, in the distribution that is decided for it (None along a dimension of the mesh: as it comes); what is no global tensor as it is."""
    return _core._lay(made, lies) if isinstance(made, _core.Tensor) and made.is_global else made


def _sum(given):
    if isinstance(given, _core.Tensor):
        return given.sum()
    parts = given.values() if isinstance(given, dict) else given
    return sum(_sum(part) for part in parts if not isinstance(part, _core.Tensor) or part.requires_grad)
