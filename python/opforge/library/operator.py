"""Operators that are declared in Python: a schema, and functions by the devices that they compute on."""

from __future__ import annotations

from contextlib import contextmanager

from .. import _core
from .._C._below_autograd import thread
from .._calls.intercept import overloaded
from .._calls.tracing import is_compiling
from ..amp.autocast_mode import autocast, is_autocast_available, is_autocast_enabled
from ..autograd.graph import increment_version
from ..overrides import handle_torch_function, has_torch_function
from . import keys, registry
from .binding import apart, bind
from .gradient import function_of, recorded
from .graphs import traced
from .results import of_own_memory, tensors_in
from .schema import Schema


class CustomOpDef:
    """An operator under a name, "ns::name". `opforge.library.custom_op` and `define` make them; `opforge.ops` finds them.

    A call's arguments are converted as the schema says. What runs is the first of: a composition for the key "Autograd", the function for the tensors' device
    or for all of them, a composition for "CompositeImplicitAutograd". Nothing is recorded inside a device's function; its gradient is that of
    `register_autograd`. Graphs call the function each time that they run, if `register_fake` tells what it gives: compiled functions that call others run as they are.
    """

    def __init__(self, name: str, schema: Schema, function=None):
        """`function` is what `custom_op` was given; its kernels' results must have memory of their own."""
        self.name = self._qualname = name
        self.schema = schema
        self.__name__ = name.partition("::")[2]
        self.__doc__ = getattr(function, "__doc__", None)
        self.backward = self.setup_context = None
        self.autograd_function = function_of(self)
        self._init_fn = function
        self._functions = {}
        self._disabled = set()

    @property
    def is_of_function(self) -> bool:
        """Whether `custom_op` made it."""
        return self._init_fn is not None

    @property
    def _schema(self):
        return str(self.schema).removeprefix(self.name)

    @property
    def _opoverload(self):
        from .. import ops

        namespace, _, name = self.name.partition("::")
        packet, _, overload = name.partition(".")
        return getattr(getattr(getattr(ops, namespace), packet), overload or "default")

    def __call__(self, *args, **kwargs):
        values = (*args, *kwargs.values())
        if has_torch_function(()) or _core._watching()[1] and overloaded(values):
            parts = [part for value in values for part in (value if isinstance(value, (list, tuple)) else (value,))]
            return handle_torch_function(self._opoverload, parts, *args, **kwargs)
        return self._run(bind(self.name, self.schema, args, kwargs))

    def _run(self, values):
        device = self._device_of(values)
        args, kwargs = apart(self.schema, values)
        cast = self._functions.get(f"autocast{device}")
        if cast is not None and is_autocast_enabled(device):
            with autocast(device, enabled=False):
                return cast(*args, **kwargs)
        composition = None if thread.blocks else self._first(f"autograd{device}", keys.AUTOGRAD)
        kernel = self._kernel(device)
        if composition is None and kernel is None:
            composition = self._first(keys.COMPOSITION)
        if composition is not None:
            return composition(*args, **kwargs)
        if kernel is None:
            raise self._unable(device)
        if is_compiling() and device != keys.META:
            kernel = traced(self, kernel, self._kernel(keys.META))
        return self._changing(kernel, values) if self.schema.is_mutable else recorded(self, kernel, values)

    def _device_of(self, values):
        """The type of the device that computes: "meta" if a tensor is there, else that of tensors outside of the CPU. Without tensors it is an argument's."""
        found = {tensor.device.type for tensor in tensors_in(*values)} or {value.type for value in values if isinstance(value, _core.device)}
        return "meta" if "meta" in found else min(found - {"cpu"}, default="cpu")

    def _first(self, *names):
        return next((self._functions[name] for name in names if name in self._functions), None)

    def _kernel(self, device):
        if device == keys.META:
            return self._first(keys.META) or (self._first(keys.DEFAULT) if not self.is_of_function else None) or self._fake_of_changes()
        key = device if device in self._functions else keys.DEFAULT
        return self._init_fn if key in self._disabled else self._functions.get(key)

    def _fake_of_changes(self):
        """What stands for an operator that only changes arguments, on tensors without elements: nothing."""
        return (lambda *args, **kwargs: None) if self.schema.is_mutable and not self.schema.results else None

    def _unable(self, device):
        if device == keys.META:
            return RuntimeError(f"{self!r}: nothing tells what it gives for tensors on the device 'meta'; register_fake declares it")
        there = ", ".join(sorted(self._functions)) or "none"
        return NotImplementedError(f"Could not run '{self.name}' on the device '{device}': no kernel is registered for it (registered: {there})")

    def _changing(self, kernel, values):
        """Runs a kernel, and tells of what it changed."""
        changed = tensors_in(*(value for parameter, value in zip(self.schema.parameters, values) if parameter.changes))
        for tensor in changed:
            source = tensor if tensor._base is None else tensor._base
            if _core.is_grad_enabled() and source.is_leaf and source.requires_grad:
                raise _core.AutogradError(f"{self.name}: a leaf Variable that requires grad is being used in an in-place operation; change it under no_grad")
        before = [tensor._version for tensor in changed]
        result = recorded(self, kernel, values)
        increment_version([tensor for tensor, version in zip(changed, before) if tensor._version == version])
        return result

    def implement(self, function, key, replaces=True):
        """Keeps the function for a device or dispatch key. RuntimeError if there is one already and this one does not replace it."""
        key = keys.key_of(key)
        if key in self._functions and not replaces:
            raise RuntimeError(f"{self.name}: there is a function for {key!r} already")
        self._functions[key] = function
        return function

    def register_kernel(self, device_types, fn=None, /):
        """Declares what computes on devices of some types, "cpu" or ("cpu", "cuda"), or for None on all; also as a decorator.

        >>> @op.register_kernel("cuda")
        ... def _(x):
        ...     return x + 1
        """
        kinds = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
        takes_device = any(parameter.kind.startswith(("Tensor", "Device")) for parameter in self.schema.parameters)
        if device_types is not None and not takes_device:
            raise ValueError(f"{self.name}: devices {kinds} for an operator that takes neither tensors nor a device (accepted: None)")

        def register(function):
            for kind in kinds:
                self.implement(of_own_memory(self.name, self.schema, function) if self.is_of_function else function, kind)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """Declares what the operator gives for tensors on the device "meta"; also as a decorator."""
        return self.implement(fn, keys.META)

    def register_autograd(self, backward, /, *, setup_context=None):
        """Declares the gradient. `backward(ctx, *grads)` gives a gradient or None for each positional parameter, and a list of them for a list of tensors.

        `setup_context(ctx, inputs, output)`, whose arguments are given by these names, runs after the operator and saves what backward needs; `inputs` are
        the positional arguments, defaults among them. Where the schema has parameters behind a star, `keyword_only_inputs` is a dict of these.
        """
        if self.schema.is_mutable:
            raise RuntimeError(f"{self.name}: register_autograd of an operator that changes arguments, as {self._schema} (accepted: one that changes none)")
        if any(parameter.by_name and parameter.kind.startswith("Tensor") for parameter in self.schema.parameters):
            raise NotImplementedError(f"{self.name}: register_autograd of an operator with tensors given by name, as {self._schema}; give them by position")
        self._functions.pop(keys.AUTOGRAD, None)
        self.backward, self.setup_context = backward, setup_context

    def register_vmap(self, func=None, /):
        """Accepts a rule of batches. `vmap` gives what the operator gives for each example, which it calls it for, so it needs none and calls none."""
        return (lambda function: function) if func is None else func

    def register_autocast(self, device_type: str, cast_inputs):
        """Has autocast on a type of devices give the operator its float tensors as `cast_inputs`, a dtype; float64 stays. Inside there is no autocast."""
        if not is_autocast_available(device_type):
            raise ValueError(f"{self.name}: register_autocast for {device_type!r}, which has no autocast")
        if not isinstance(cast_inputs, _core.dtype):
            raise ValueError(f"{self.name}: register_autocast: cast_inputs must be a dtype, not {type(cast_inputs).__name__}")

        def lowered(value):
            if isinstance(value, list):
                return [lowered(item) for item in value]
            is_there = isinstance(value, _core.Tensor) and value.device.type == device_type
            return value.to(cast_inputs) if is_there and value.is_floating_point() and value.dtype is not _core.float64 else value

        def cast(*args, **kwargs):
            return self(*map(lowered, args), **{name: lowered(value) for name, value in kwargs.items()})

        self.implement(cast, f"autocast{device_type}")

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Not there: opforge asks `__torch_function__` of classes, and no `__torch_dispatch__`."""
        raise NotImplementedError(f"{self.name}: register_torch_dispatch: opforge has no __torch_dispatch__; __torch_function__ sees calls")

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True):
        """A block in which the function that `custom_op` was given computes on a type of devices, or with `enabled` again the kernel registered for it."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(keys.key_of(device_type))
        try:
            yield
        finally:
            self._disabled = before

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return registry.find, (self.name,)

    def __repr__(self):
        return f"<CustomOpDef({self.name})>"
