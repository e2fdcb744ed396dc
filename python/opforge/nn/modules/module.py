"""The base class of neural network modules."""

from __future__ import annotations

from collections import OrderedDict

from ... import _core as _C
from ..._tensors.layouts import laid_in
from ...autograd.grad_mode import no_grad
from ..parameter import Buffer, Parameter, is_lazy
from . import _hooks
from ._conversion import parse_to
from ._hooks import (  # noqa: F401  PyTorch has them in this file
    Hooks,
    global_buffer_registration_hooks as _global_buffer_registration_hooks,
    global_module_registration_hooks as _global_module_registration_hooks,
    global_parameter_registration_hooks as _global_parameter_registration_hooks,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401  packages have these under PyTorch's names
from ._state import StateDict, _IncompatibleKeys  # noqa: F401
from ._traversal import Traversal

# A module's dictionaries, in the order they are looked through for an attribute, and those of its hooks.
_TABLES = ("_parameters", "_buffers", "_modules")
_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


def _addindent(text, spaces):
    return text.replace("\n", "\n" + " " * spaces)


def _replace_data(parameter, fn):
    """Replaces a parameter's data, and its gradient's, by `fn` of it."""
    with no_grad():
        data, grad = fn(parameter.data), None if parameter.grad is None else fn(parameter.grad)
        # A gradient lies where its tensor does.
        parameter.grad = None
        parameter.data = data
        parameter.grad = grad


class Module(Hooks, StateDict, Traversal):
    """A computation with parameters, buffers and modules of its own; subclasses write `__init__` and `forward`.

    Parameters, buffers and modules that are assigned to attributes are registered by that.

    >>> class Scale(opforge.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = opforge.nn.Parameter(opforge.tensor(2.0))
    ...     def forward(self, input):
    ...         return self.factor * input
    >>> Scale()(opforge.ones(2)).tolist()
    [2.0, 2.0]
    """

    training: bool
    # Whether arguments of __init__ go on to a class that comes after this one.
    call_super_init = False
    dump_patches = False
    # What calls are, if `compile` was asked for.
    _compiled_call_impl = None

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            given = f"{len(args) + 1} positional arguments were given" if args else f"unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__(): takes no arguments, but {given}")
        state = self.__dict__
        state["training"] = True
        for name in _TABLES:
            state[name] = {}
        state["_non_persistent_buffers_set"] = set()
        for name in _HOOKS:
            state[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input):
        """What the module computes. Call the module, not this: hooks run in the call."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
            or _hooks.global_forward_hooks or _hooks.global_forward_pre_hooks
            or _hooks.global_backward_hooks or _hooks.global_backward_pre_hooks or self._compiled_call_impl
        ):  # fmt: skip
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        """A call as it is without [`compile`]."""
        return _hooks.call_with_hooks(self, args, kwargs)

    def compile(self, *args, **kwargs):
        """Has calls of this module, also as a part of others, run as graphs; settings are those of `opforge.compile`. Copies of the module are not
        compiled."""
        from ...graph import compile

        self.__dict__["_compiled_call_impl"] = compile(self._call_impl, *args, **kwargs)

    # Attributes and registration

    def __getattr__(self, name):
        state = self.__dict__
        if "_modules" in state:  # what is set last in __init__
            # Written out: this runs for every parameter that a forward uses.
            if name in (entries := state["_parameters"]):
                return entries[name]
            if name in (entries := state["_modules"]):
                return entries[name]
            if name in (entries := state["_buffers"]):
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "module", "_modules")
            state["_modules"][name] = _hooks.registered(_hooks.global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer):
            self._forget(name, "buffers", "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif value is not None and name in state.get("_parameters", ()):
            raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}' (nn.Parameter or None expected)")
        elif value is not None and name in state.get("_modules", ()):
            raise TypeError(f"cannot assign '{type(value).__name__}' as child module '{name}' (nn.Module or None expected)")
        elif value is not None and name in state.get("_buffers", ()) and not isinstance(value, _C.Tensor):
            raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (Tensor, nn.Buffer or None expected)")
        else:
            entries = next((state[table] for table in _TABLES if name in state.get(table, ())), None)
            if entries is None:
                object.__setattr__(self, name, value)
            else:
                entries[name] = value

    def __delattr__(self, name):
        for table in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def _forget(self, name, what, table):
        """Frees `name` for a registration in `table`, where it keeps its place if it is there already."""
        state = self.__dict__
        if "_parameters" not in state:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        state.pop(name, None)
        for other in _TABLES:
            if other != table:
                state[other].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def _check_name(self, name, table, kind):
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            problem = 'can\'t contain "."' if name else 'can\'t be empty string ""'
            raise KeyError(f"{kind} name {problem}, got: {name}")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Adds a parameter; None reserves the name and is left out of `state_dict`."""
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}': a parameter is a leaf, it has no history")
        self._parameters[name] = _hooks.registered(_hooks.global_parameter_registration_hooks, self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state but not trained; one that is not `persistent` is left out of `state_dict`."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)")
        self._buffers[name] = _hooks.registered(_hooks.global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Adds a child module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "_modules", "module")
        self._modules[name] = _hooks.registered(_hooks.global_module_registration_hooks, self, name, module)

    register_module = add_module

    def set_submodule(self, target, module, strict=False):
        """Puts `module` at the dotted name `target`; with `strict` there must be one already."""
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    # Changing all below

    def apply(self, fn):
        """Calls `fn` on every module below and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replaces every parameter's and gradient's data, and every buffer, by `fn` of it; parameters stay the same objects."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                _replace_data(parameter, fn)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                _replace_data(buffer, fn)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Moves to a device and converts floating point and complex tensors to a dtype: `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`.

        With `memory_format=` the elements of tensors of four and five dimensions are put in that order. Raises TypeError for other dtypes and arguments,
        NotImplementedError for tensors on the device "meta" that are to leave it.
        """
        device, dtype, _, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        def convert(tensor):
            if device is not None and tensor.device.type == "meta" != device.type:
                raise NotImplementedError(f"nn.Module.to: tensors on meta have no elements to copy; to_empty(device='{device}') moves without them")
            target = dtype if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()) else tensor.dtype
            moved = tensor.to(tensor.device if device is None else device, target)
            return moved if memory_format is None or moved.dim() not in (4, 5) else laid_in(moved, memory_format)

        return self._apply(convert)

    def to_global(self, placement=None, sbp=None, *, zero=False):
        """Makes every parameter and buffer a global tensor: see `Tensor.to_global`. With `sbp.broadcast` they become those of the first rank.

        With `zero=True` ranks that would all have a parameter share it: each has a part, of its gradient and its optimizer's states too, and it is gathered where it is
        used. Without `placement` and `sbp` that is done to a module that is global already.
        """
        if not (zero and placement is None and sbp is None):
            self._apply(lambda tensor: tensor.to_global(placement, sbp))
        if zero:
            from ..._global.convert import shared

            for parameter in self.parameters():
                _replace_data(parameter, shared)
        return self

    def to_empty(self, *, device, recurse=True):
        """Moves to a device without copying values."""
        return self._apply(lambda tensor: _C.empty_like(tensor, device=device), recurse)

    def cuda(self, device=None):
        """Moves to a CUDA device, the current one by default: a DeviceError where there is none, unless there is nothing to move."""
        return self.to(_C.device("cuda") if device is None else device)

    def xpu(self, device=None):
        """Moves to an Intel GPU, which is not there: a DeviceError, unless there is nothing to move."""
        return self.to(_C.device("xpu") if device is None else device)

    def type(self, dst_type):
        """Converts all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def _floats_to(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Converts floating point parameters and buffers to float32."""
        return self._floats_to(_C.float32)

    def double(self):
        """Converts floating point parameters and buffers to float64."""
        return self._floats_to(_C.float64)

    def half(self):
        """Converts floating point parameters and buffers to float16."""
        return self._floats_to(_C.float16)

    def bfloat16(self):
        """Converts floating point parameters and buffers to bfloat16."""
        return self._floats_to(_C.bfloat16)

    def cpu(self):
        """Moves to the CPU."""
        return self.to("cpu")

    def train(self, mode=True):
        """Switches to training (or, with False, to evaluation): dropout, batch normalization and the like differ."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Switches to evaluation: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Says of all parameters whether gradients are recorded for them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops all gradients; with `set_to_none=False` fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def share_memory(self):
        """Moves parameters and buffers to memory that other processes see: see `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # Copying and printing

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands in the parentheses of the printed module; subclasses override it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        children = [f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()]
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = (extra.split("\n") if extra else []) + children
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
