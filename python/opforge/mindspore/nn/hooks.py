"""Functions that are called around a cell, and on its gradients."""

from __future__ import annotations

from collections import OrderedDict

from ...utils.hooks import register
from ..bprop import call_with_bprop


class Hooks:
    """The hooks of a cell. Each method returns a handle, whose `remove()` takes the hook away again."""

    _before = _after = _on_gradients = _on_results = None

    def register_forward_pre_hook(self, hook_fn):
        """`hook_fn(cell, inputs)` is called before `construct`; what it returns, unless None, are the inputs."""
        return self._add("_before", hook_fn)

    def register_forward_hook(self, hook_fn):
        """`hook_fn(cell, inputs, output)` is called after `construct`; what it returns, unless None, is the result."""
        return self._add("_after", hook_fn)

    def register_backward_pre_hook(self, hook_fn):
        """`hook_fn(cell, grad_output)` gets the gradients of the results, a tuple; what it returns, unless None, takes their place."""
        return self._add("_on_results", hook_fn)

    def register_backward_hook(self, hook_fn):
        """`hook_fn(cell, grad_input, grad_output)` gets the gradients by the inputs and of the results, tuples; what it returns, unless None, are those by
        the inputs."""
        return self._add("_on_gradients", hook_fn)

    def _add(self, kind, hook):
        if not callable(hook):
            raise TypeError(f"{type(self).__name__}: a hook is a {type(hook).__name__} (accepted: a function)")
        hooks = self.__dict__.setdefault(kind, OrderedDict())
        return register(hooks, hook)

    def _called_with_hooks(self, args, kwargs):
        """`_computed`, and the hooks around it."""
        for hook in list((self._before or {}).values()):
            args = _as_tuple(_or(hook(self, args), args))
        watch = _Watch(self) if self._on_gradients or self._on_results else None
        output = self._computed(args if watch is None else watch.inputs(args), kwargs)
        for hook in list((self._after or {}).values()):
            output = _or(hook(self, args, output), output)
        return output if watch is None else watch.outputs(output)


class _Watch:
    """Identities around a cell's computation and its forward hooks, whose derivatives call its hooks."""

    def __init__(self, cell):
        self.cell, self.of_outputs = cell, ()

    def inputs(self, args):
        return call_with_bprop("register_backward_hook", lambda *args: args, self._inputs_arrived, args)

    def outputs(self, output):
        return call_with_bprop("register_backward_hook", lambda output: output, self._outputs_arrived, (output,))

    def _outputs_arrived(self, output, out, dout):
        is_one = not isinstance(output, tuple)
        for hook in list((self.cell._on_results or {}).values()):
            found = _as_tuple(_or(hook(self.cell, _as_tuple(dout)), dout))
            dout = found[0] if is_one else found
        self.of_outputs = _as_tuple(dout)
        return (dout,)

    def _inputs_arrived(self, *given):
        grads = given[-1]
        for hook in list((self.cell._on_gradients or {}).values()):
            grads = _as_tuple(_or(hook(self.cell, grads, self.of_outputs), grads))
        return grads


def _as_tuple(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def _or(found, otherwise):
    return otherwise if found is None else found
