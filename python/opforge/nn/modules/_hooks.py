"""What runs around a module's forward and backward, and how hooks are registered."""

from __future__ import annotations

from collections import OrderedDict

from ... import _core as _C
from ...utils.hooks import register

# Hooks of all modules; each module has dictionaries of its own beside them.
global_forward_pre_hooks: OrderedDict = OrderedDict()
global_forward_hooks: OrderedDict = OrderedDict()
global_forward_hooks_with_kwargs: OrderedDict = OrderedDict()
global_forward_hooks_always_called: OrderedDict = OrderedDict()
global_backward_pre_hooks: OrderedDict = OrderedDict()
global_backward_hooks: OrderedDict = OrderedDict()
global_parameter_registration_hooks: OrderedDict = OrderedDict()
global_buffer_registration_hooks: OrderedDict = OrderedDict()
global_module_registration_hooks: OrderedDict = OrderedDict()


def register_module_forward_pre_hook(hook):
    """Runs `hook(module, args)` before the forward of every module."""
    return register(global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Runs `hook(module, args, output)` after the forward of every module."""
    flags = [global_forward_hooks_with_kwargs] * with_kwargs + [global_forward_hooks_always_called] * always_call
    return register(global_forward_hooks, hook, flags=flags)


def register_module_full_backward_pre_hook(hook):
    """Runs `hook(module, grad_output)` before the backward of every module."""
    return register(global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """Runs `hook(module, grad_input, grad_output)` after the backward of every module."""
    return register(global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Runs `hook(module, name, parameter)` whenever a module gets a parameter; what it returns, unless None, is registered in its place."""
    return register(global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook):
    """Runs `hook(module, name, buffer)` whenever a module gets a buffer; what it returns, unless None, is registered in its place."""
    return register(global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Runs `hook(module, name, submodule)` whenever a module gets a submodule; what it returns, unless None, is registered in its place."""
    return register(global_module_registration_hooks, hook)


def registered(hooks, module, name, value):
    """What is to be registered: the value, or what the hooks of registration put in its place."""
    for hook in hooks.values():
        other = hook(module, name, value)
        value = value if other is None else other
    return value


class Hooks:
    """The registering half of a module: every method returns a handle whose `remove()` takes the hook back."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Runs `hook(module, args)` before forward; what it returns, unless None, replaces the arguments.

        With `with_kwargs` it is called as `hook(module, args, kwargs)` and returns None or a pair.
        """
        return register(self._forward_pre_hooks, hook, prepend, [self._forward_pre_hooks_with_kwargs] * with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Runs `hook(module, args, output)` after forward; what it returns, unless None, replaces the output.

        With `with_kwargs` it is called as `hook(module, args, kwargs, output)`; with `always_call` also when forward raises.
        """
        flags = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return register(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Runs `hook(module, grad_output)` before the gradients of the inputs are computed; may return a new `grad_output`."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Runs `hook(module, grad_input, grad_output)` once the gradients of the inputs are there; may return a new `grad_input`. Both are tuples, which have
        None for what needs no gradient; where no input does, the hook runs once those of the outputs are there."""
        return register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """[`register_full_backward_hook`], under an older name; there the gradients of the inputs could be those of the last operator alone."""
        return self.register_full_backward_hook(hook)

    def register_state_dict_post_hook(self, hook):
        """Runs `hook(module, state_dict, prefix, local_metadata)` at the end of `state_dict`."""
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """`register_state_dict_post_hook`; what the hook returns, unless None, is the state."""
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Runs `hook(module, prefix, keep_vars)` at the beginning of `state_dict`."""
        return register(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return register(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Runs `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Runs `hook(module, incompatible_keys)` after loading; it may change the lists of keys in place."""
        return register(self._load_state_dict_post_hooks, hook)


class _WithModule:
    """A hook with its module as first argument; a class, so that modules with hooks can be copied and pickled."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, module

    def __call__(self, *args):
        return self.hook(self.module, *args)


def call_with_hooks(module, args, kwargs):
    """`module.forward(*args, **kwargs)` with all hooks around it."""
    called = set()
    try:
        args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
        probe = _backward_probe(module)
        if probe is not None:
            args = probe.watch_inputs(args)
        output = module.forward(*args, **kwargs)
        output = _run_forward_hooks(module, args, kwargs, output, called)
        return output if probe is None else probe.watch_outputs(output)
    except Exception:
        _run_always_called(module, args, kwargs, called)
        raise


def _run_forward_pre_hooks(module, args, kwargs):
    for key, hook in [*global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            result = hook(module, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                args, kwargs = result
        else:
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


def _forward_hooks(module):
    """(key, hook, whether it takes keyword arguments, whether it is always called), global hooks first."""
    for key, hook in list(global_forward_hooks.items()):
        yield key, hook, key in global_forward_hooks_with_kwargs, key in global_forward_hooks_always_called
    for key, hook in list(module._forward_hooks.items()):
        yield key, hook, key in module._forward_hooks_with_kwargs, key in module._forward_hooks_always_called


def _run_forward_hooks(module, args, kwargs, output, called):
    for key, hook, with_kwargs, _ in _forward_hooks(module):
        called.add(key)
        result = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        output = output if result is None else result
    return output


def _run_always_called(module, args, kwargs, called):
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if always and key not in called:
            try:
                hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
            except Exception as error:
                import warnings

                warnings.warn(f"module forward hook with ``always_call=True`` raised an exception: {error}", stacklevel=3)


def _backward_probe(module):
    pre = [*global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    post = [*global_backward_hooks.values(), *module._backward_hooks.values()]
    return _BackwardProbe(module, pre, post) if (pre or post) and _C.is_grad_enabled() else None


class _BackwardProbe:
    """Identity functions around a module's forward, whose backwards see the gradients of its outputs and inputs."""

    def __init__(self, module, pre_hooks, hooks):
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.grad_outputs = None
        self.inputs_watched, self.input_count = False, 0

    def watch_inputs(self, args):
        if not self.hooks:
            return args
        self.input_count = len(args)
        args, self.inputs_watched = self._watch(args, self._inputs_arrived)
        return args

    def watch_outputs(self, output):
        values, rebuild = _as_tuple(output)
        values, _ = self._watch(values, self._outputs_arrived)
        return rebuild(values)

    def _watch(self, values, arrived):
        """The values with their tensors through the identity, and whether gradients will flow through any of them."""
        places = [i for i, value in enumerate(values) if isinstance(value, _C.Tensor)]
        if not any(values[i].requires_grad for i in places):
            return values, False
        from ...autograd.function import Function

        class BackwardHook(Function):
            @staticmethod
            def forward(ctx, *tensors):
                ctx.set_materialize_grads(False)
                return tuple(tensor.view_as(tensor) for tensor in tensors)

            @staticmethod
            def backward(ctx, *grads):
                full = [None] * len(values)
                for i, grad in zip(places, grads):
                    full[i] = grad
                full = arrived(tuple(full))
                return tuple(full[i] for i in places)

        watched = list(values)
        for i, tensor in zip(places, BackwardHook.apply(*(values[i] for i in places))):
            watched[i] = tensor
        return tuple(watched), True

    def _outputs_arrived(self, grads):
        for hook in self.pre_hooks:
            grads = _replaced(grads, hook(self.module, grads), "pre hook", "grad_output")
        self.grad_outputs = grads
        if not self.inputs_watched:
            for hook in self.hooks:
                result = hook(self.module, (None,) * self.input_count, grads)
                if result is not None and not (isinstance(result, tuple) and all(grad is None for grad in result)):
                    raise RuntimeError("Backward hook: where no input requires a gradient it must return None")
        return grads

    def _inputs_arrived(self, grads):
        for hook in self.hooks:
            grads = _replaced(grads, hook(self.module, grads, self.grad_outputs), "hook", "grad_input")
        return grads


def _as_tuple(output):
    if isinstance(output, tuple):
        return tuple(output), lambda values: type(output)(*values) if hasattr(output, "_fields") else values
    return (output,), lambda values: values[0]


def _replaced(grads, result, kind, what):
    if result is None:
        return grads
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(f"Backward {kind} returned an invalid number of {what}, got {len(result)}, but expected {len(grads)}")
    return result
