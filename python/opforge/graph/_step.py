"""`opforge.nn.Graph`: a step, written as a class, that runs as one kernel."""

from __future__ import annotations

import contextlib

from .. import _core
from .._calls import intercept as _intercept
from .._calls.tracing import NotAGraph
from ..nn.modules.module import Module
from ._programs import kept, trace
from ._surroundings import surroundings, watch
from ._tree import flatten

# Attributes that every graph has.
_OWN = frozenset({"_optimizers", "_programs", "_debug", "_whole"})


class Graph:
    """A step of training or of inference. Subclasses assign modules and optimizers in `__init__`, and write `build`.

    `build` is run once for each kind of arguments, in order to write down what it calls. It may call `backward()` of a loss; then each call of the
    graph computes the gradients anew, and the optimizers take their steps. Results carry no gradients. A step on global tensors runs call by call: what is one
    kernel is then what each rank's calls on its parts become.

    >>> class Step(opforge.nn.Graph):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.model = opforge.nn.Linear(4, 1)
    ...         self.add_optimizer(opforge.optim.SGD(self.model.parameters(), lr=0.1))
    ...     def build(self, x, y):
    ...         loss = opforge.nn.functional.mse_loss(self.model(x), y)
    ...         loss.backward()
    ...         return loss
    >>> step, x, y = Step(), opforge.randn(8, 4), opforge.randn(8, 1)
    >>> float(step(x, y)) > float(step(x, y))
    True
    """

    def __init__(self, *, debug=False):
        self._optimizers = []
        self._programs = {}
        self._debug = debug
        self._whole = None

    def build(self, *args, **kwargs):
        """The step. Subclasses write it."""
        raise NotImplementedError(f"{type(self).__name__}.build: a graph needs one")

    def add_optimizer(self, optimizer, lr_sch=None):
        """Has an optimizer take a step after each backward, and its schedule too."""
        if not callable(getattr(optimizer, "step", None)):
            raise TypeError(f"add_optimizer(): an optimizer has a step(), {type(optimizer).__name__} has none")
        self._optimizers.append((optimizer, lr_sch))

    def debug(self, v_level=0, *, ranks=None, max_py_stack_depth=2, only_user_py_stack=True, op_repr_with_py_stack=False):
        """Prints programs when they are made; what else OneFlow's programs give is not needed here."""
        self._debug = v_level >= 0

    def modules(self):
        """The modules that are attributes, with those in them."""
        for value in vars(self).values():
            if isinstance(value, Module):
                yield from value.modules()

    def as_module(self):
        """A module whose forward is `build`, and whose submodules are those of the graph by the names of their attributes. Its hooks see the graph's steps on global
        tensors; `opforge.distributed.plan` uses it."""
        if self._whole is None:
            self._whole = (_Whole(self),)
        return self._whole[0]

    def state_dict(self):
        """The states of modules and optimizers, by the names of their attributes."""
        modules = {name: value.state_dict() for name, value in vars(self).items() if isinstance(value, Module)}
        return modules | {f"optimizer{i}": optimizer.state_dict() for i, (optimizer, _) in enumerate(self._optimizers)}

    def load_state_dict(self, state):
        """Takes over what `state_dict` gave."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                value.load_state_dict(state[name])
        for i, (optimizer, _) in enumerate(self._optimizers):
            optimizer.load_state_dict(state[f"optimizer{i}"])

    def __call__(self, *args, **kwargs):
        tensors, structure = flatten((args, kwargs))
        parameters = self._parameters()
        if any(tensor.is_global for tensor in [*tensors, *parameters]):
            return self._call_by_call(args, kwargs, parameters)
        now, modules = surroundings.key(self.build, parameters)
        known = kept(self._programs, (structure.key, now, _core.is_grad_enabled(), _intercept.thread.cast), modules)
        found = next((entry for entry in known if entry[0].accepts(tensors)), None)
        if found is None:
            found = self._trace(tensors, structure, parameters)
            known.insert(0, found)
        program, results, touched = found
        if program.shares_changed(tensors):
            return self._call_by_call(args, kwargs, parameters)
        values = program(tensors)
        gradients = [values.pop() for _ in touched]
        for parameter, gradient in zip(touched, reversed(gradients)):
            parameter.grad = gradient
        if touched:
            self._optimize()
        return results.build(values)

    def explain(self):
        """The programs there are, as text: their calls, which of them are one kernel, and why others are not."""
        programs = [entry[0] for known, _ in self._programs.values() for entry in known]
        return "\n\n".join(program.explain() for program in programs) or "no program yet"

    def _parameters(self):
        found = {id(p): p for module in self.modules() for p in module.parameters(recurse=False)}
        groups = (group for optimizer, _ in self._optimizers for group in optimizer.param_groups)
        return [*(found | {id(p): p for group in groups for p in group["params"]}).values()]

    def _optimize(self):
        for optimizer, schedule in self._optimizers:
            optimizer.step()
            optimizer.zero_grad()
            if schedule is not None:
                schedule.step()

    def _call_by_call(self, args, kwargs, parameters):
        with _without_gradients(parameters) as before:
            flat, results = flatten(self.as_module()(*args, **kwargs))
            touched = {id(parameter): parameter.grad for parameter in parameters if parameter.grad is not None}
            before.update(touched)
        if touched:
            self._optimize()
        return results.build([tensor.detach() for tensor in flat])

    def _trace(self, tensors, structure, parameters):
        results, touched = None, []

        def step(tensors):
            nonlocal results
            args, kwargs = structure.build(tensors)
            flat, results = flatten(self.build(*args, **kwargs))
            if not structure.is_of((args, kwargs), tensors):
                raise NotAGraph(f"{type(self).__name__}.build changes a container among its arguments, which a graph does not")
            touched.extend(parameter for parameter in parameters if parameter.grad is not None)
            return [tensor.detach() for tensor in flat] + [parameter.grad for parameter in touched]

        with _without_gradients(parameters):
            program = trace(step, tensors, True)
        if self._debug:
            print(program)
        return program, results, touched


watch(Graph, None, skip=_OWN)


class _Whole(Module):
    def __init__(self, graph):
        super().__init__()
        self.forward = graph.build
        for name, value in vars(graph).items():
            if isinstance(value, Module):
                self.add_module(name, value)


@contextlib.contextmanager
def _without_gradients(parameters):
    """Takes gradients away meanwhile. They are given back by the parameters' ids, as the mapping that is entered has them in the end."""
    before = {id(parameter): parameter.grad for parameter in parameters}
    try:
        for parameter in parameters:
            parameter.grad = None
        yield before
    finally:
        for parameter in parameters:
            parameter.grad = before[id(parameter)]
