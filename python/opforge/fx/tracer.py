"""`symbolic_trace`: the program of a module or function, written down by calling it with proxies."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys

from .. import _core
from ..nn import Module, Sequential
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import Proxy, TracerBase, holds_proxy, node_of

__all__ = ["Tracer", "symbolic_trace", "wrap"]


class Tracer(TracerBase):
    """Writes graphs. Subclasses say which modules are steps of their own (`is_leaf_module`)."""

    proxy_buffer_attributes = False

    def __init__(self, autowrap_modules=(), autowrap_functions=(), param_shapes_constant=False):
        self.root = self.graph = None

    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of a module are a step each: of those of `nn`, except Sequential."""
        return m.__module__.startswith("opforge.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The name of a module below the root. Raises NameError where it is not below."""
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """What becomes of a module's call: a step, or those of its forward."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def create_arg(self, a):
        """What stands in a node for an argument: proxies are their nodes, parameters of the root are read when the program runs."""
        return map_aggregate(node_of(a), self._of_root)

    def _of_root(self, value):
        if not isinstance(value, _core.Tensor):
            return value
        named = (*self.root.named_parameters(), *self.root.named_buffers())
        name = next((name for name, tensor in named if tensor is value), None)
        if name is None:
            name = f"_tensor_constant{sum(key.startswith('_tensor_constant') for key in vars(self.root))}"
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def trace(self, root, concrete_args=None):
        """The graph of a module or function. Arguments in `concrete_args` have these values instead of being inputs."""
        self.root = root if isinstance(root, Module) else Module()
        function = root.forward if isinstance(root, Module) else root
        self.graph = Graph(tracer_cls=type(self))
        args, kwargs = self._inputs(function, concrete_args or {})
        with _calls_of_modules(self), _functions_shown():
            result = function(*args, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(self, function, concrete):
        args, kwargs = [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            if name in concrete:
                value = concrete[name]
            else:
                label = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + name
                default = () if parameter.default is parameter.empty else (parameter.default,)
                value = self.create_proxy("placeholder", label, default, {})
            if parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[name] = value
            elif parameter.kind is not parameter.VAR_KEYWORD:
                args.append(value)
        return args, kwargs


@contextlib.contextmanager
def _calls_of_modules(tracer):
    """Calls of modules go to the tracer."""
    call = Module.__call__

    def shown(self, *args, **kwargs):
        return tracer.call_module(self, functools.partial(call, self), args, kwargs)

    Module.__call__ = shown
    try:
        yield
    finally:
        Module.__call__ = call


@contextlib.contextmanager
def _functions_shown():
    """Functions look for `__torch_function__` of proxies."""
    before = _core._watching()
    _core._watch(before[0], True)
    try:
        yield
    finally:
        _core._watch(*before)


def symbolic_trace(root, concrete_args=None):
    """The program of a module or function as a module, whose `graph` can be changed.

    Raises TraceError where the program looks at a value, as conditions and loops over tensors do.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def wrap(fn_or_name):
    """Has a function of Python's, or the one of that name in the caller's module, be a step of its own in traces."""
    if isinstance(fn_or_name, str):
        space = sys._getframe(1).f_globals
        function = space.get(fn_or_name) or getattr(__import__("builtins"), fn_or_name)
        space[fn_or_name] = _recorded(function)
        return fn_or_name
    return _recorded(fn_or_name)


def _recorded(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        if not holds_proxy((args, kwargs)):
            return function(*args, **kwargs)
        proxies = []
        map_aggregate((args, kwargs), lambda value: proxies.append(value) if isinstance(value, Proxy) else None)
        return proxies[0].tracer.create_proxy("call_function", function, args, kwargs)

    return call
