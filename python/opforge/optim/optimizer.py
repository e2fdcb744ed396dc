"""The base class of optimizers."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy

from .. import _core as _C
from .._calls.tracing import is_compiling
from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..utils.hooks import register

_global_step_pre_hooks: OrderedDict = OrderedDict()
_global_step_post_hooks: OrderedDict = OrderedDict()

# What optimizers take as `params`, for annotations: tensors, `(name, tensor)` pairs, or groups.
ParamsT = Iterable


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return register(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return register(_global_step_post_hooks, hook)


def check_range(name, value, low=0.0, high=None):
    """Raises ValueError unless `low <= value`, and `value < high` if there is a `high`. The value may be a tensor of one element."""
    if isinstance(value, _C.Tensor) and value.numel() != 1:
        raise ValueError(f"{name}: a tensor of shape {tuple(value.shape)}, expected one of 1 element")
    if not low <= value or (high is not None and not value < high):
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas):
    """Raises ValueError unless both decay rates are in `[0, 1)`."""
    for i, beta in enumerate(betas):
        check_range(f"beta parameter at index {i}", beta, high=1.0)


def implementation(**settings):
    """The settings that choose between implementations elsewhere, once it is known that they agree. Here there is one: `foreach`, `fused` and
    `capturable` change nothing and are only kept; `differentiable` is what [`Optimizer`] records."""
    if settings.get("foreach") and settings.get("fused"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if settings.get("differentiable") and settings.get("fused"):
        raise RuntimeError("`fused` does not support `differentiable`")
    return settings


def in_one_pass(group, params):
    """Whether a kernel for whole groups may update these parameters: of real numbers, by steps that are not recorded."""
    return not group["differentiable"] and not any(param.is_complex() for param in params)


def numbers(group):
    """The settings with numbers in place of tensors of one element, which rates may be."""
    found = {name: value.item() for name, value in group.items() if isinstance(value, _C.Tensor)}
    if any(isinstance(beta, _C.Tensor) for beta in group.get("betas", ())):
        found["betas"] = tuple(map(float, group["betas"]))
    return {**group, **found} if found else group


def start(state, param, *names):
    """Counts the step in `state`, which begins with zeros under `names`; returns the step. Graphs, whose runs change no numbers of Python's, count by a tensor."""
    if not state:
        state.update({"step": 0, **{name: _C.zeros_like(param) for name in names}})
    if is_compiling():
        # In f64 powers of decay rates keep their digits.
        step = state["step"] = _as_tensor("step", state["step"])
        return step.add_(1).double()
    state["step"] = int(state["step"]) + 1
    return state["step"]


def multiply(state, name, factor):
    """Multiplies a number in `state`, which begins with 1, as [`start`] counts; returns it."""
    if is_compiling():
        number = state[name] = _as_tensor(name, state.get(name, 1.0))
        return number.mul_(factor)
    state[name] = float(state.get(name, 1.0)) * factor
    return state[name]


def descend(param, direction, scale, rate):
    """Takes `rate * direction / scale` off a parameter. A rate is a number or, as those of graphs are, a tensor."""
    if isinstance(rate, _C.Tensor):
        param.sub_(direction / scale * rate)
    else:
        param.addcdiv_(direction, scale, value=-rate)


def decayed(grad, param, weight_decay):
    """The gradient with that of `weight_decay / 2 * ‖param‖²` added."""
    return grad.add(param, alpha=weight_decay) if weight_decay else grad


def _with_hooks(step):
    """The method `step` between the hooks; itself if it is between them already."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        for hook in (*_global_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                args, kwargs = replaced
        result = step(self, *args, **kwargs)
        self._opt_called = True  # read by the schedulers
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_step_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    hooked.hooked = True
    return hooked


class Optimizer:
    """Updates parameters by their gradients.

    `params` are tensors, `(name, tensor)` pairs, or dictionaries: groups with settings of their own beside `"params"`. `defaults` are the
    settings of groups that do not say. A subclass writes `_update_one`, or `_update` to treat a group at once, or `step`.
    """

    _HOOK_TABLES = (
        "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
        "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
    )  # fmt: skip

    # The names of numbers in a parameter's state that are tensors to those who read it.
    _scalars: tuple[str, ...] = ()
    # Whether steps of graphs read rates that are tensors in each run: others are traced for each rate.
    _reads_rates = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __getattr__(self, name):
        """The tables of hooks are there from the first look on: for classes that do not call `Optimizer.__init__`, and copies of optimizers."""
        if name in Optimizer._HOOK_TABLES:
            return self.__dict__.setdefault(name, OrderedDict())
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _patch_step_function(self):
        """Has the class's `step` run the hooks, if it was put there after the class was made."""
        type(self).step = _with_hooks(type(self).step)

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._patch_step_function()
        if isinstance(params, _C.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got Tensor")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    @property
    def state(self):
        """What is kept for each parameter, in a dict of its own.

        Steps work on Python's numbers, which become tensors without dimensions when this is read: `step` of float32, others of float64, so that
        reading rounds nothing. Later steps leave those tensors as they are: read `state` again.
        """
        if not self._is_shown:
            for values in self._state.values():
                if isinstance(values, dict):
                    values.update({name: _as_tensor(name, values[name]) for name in self._scalars if name in values})
            self._is_shown = True
        return self._state

    @state.setter
    def state(self, state):
        self._state, self._is_shown = state, False

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own: `{"params": .., "lr": ..}`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be ordered, and a set is not: use a list instead")
        params = [params] if isinstance(params, _C.Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["params"] = params = [param[1] if isinstance(param, tuple) else param for param in params]
        if names:
            param_group["param_names"] = names
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    def _check_params(self, params):
        known = {id(param) for group in self.param_groups for param in group["params"]}
        for param in params:
            if not isinstance(param, _C.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(param) in known:
                raise ValueError("some parameters appear in more than one parameter group")

    def step(self, closure=None):
        """Updates all parameters that have a gradient. `closure`, if given, computes the loss again and is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._is_shown = False
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                params = [param for param in group["params"] if param.grad is not None]
                if params:
                    self._update(group if self._reads_rates and is_compiling() else numbers(group), params)
        return loss

    def _update(self, group, params):
        """Updates the parameters of a group; all have a gradient, and nothing is recorded unless the group is `differentiable`."""
        for param in params:
            state = self._state[param]
            if group.get("differentiable"):
                # What earlier steps recorded keeps its memory.
                state.update({name: value.clone() for name, value in state.items() if isinstance(value, _C.Tensor)})
            update = self._update_pairs if param.is_complex() else self._update_one
            update(param, -param.grad if group.get("maximize") else param.grad, state, group)

    def _update_pairs(self, param, grad, state, group):
        """Updates a complex parameter as one of pairs of real numbers."""
        pairs, shape = {name: _real_view(value) for name, value in state.items()}, (*param.shape, 2)
        self._update_one(_C.view_as_real(param), _C.view_as_real(grad), pairs, group)
        for name, value in pairs.items():
            is_pairs = isinstance(value, _C.Tensor) and value.shape == shape
            state[name] = _C.view_as_complex(value) if is_pairs else value

    def _update_one(self, param, grad, state, group):
        """Updates a parameter of real numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def zero_grad(self, set_to_none=True):
        """Drops all gradients; with `set_to_none=False` fills them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                else:
                    param.grad = param.grad.detach().zero_()

    def state_dict(self):
        """`{"state": .., "param_groups": ..}` with parameters replaced by their positions over all groups."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        position = {}
        for group in self.param_groups:
            for param in group["params"]:
                position.setdefault(id(param), len(position))
        groups = [{**group, "params": [position[id(param)] for param in group["params"]]} for group in self.param_groups]
        for group in groups:
            group["params"] = group.pop("params")  # last, as in PyTorch's files
        state = {position[id(key)] if isinstance(key, _C.Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict):
        """Takes the state and the settings of `state_dict`, whose groups must be as many and as large as this optimizer's."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = {}
        for theirs, ours in zip(saved, self.param_groups):
            params.update(zip(theirs["params"], ours["params"]))
            theirs["params"] = ours["params"]
            if "param_names" in ours:
                theirs.setdefault("param_names", ours["param_names"])
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            state[params.get(key, key)] = _cast(value, params[key], {"step", *self._scalars}) if key in params else value
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        for name, value in state.items():
            setattr(self, name, value)
        self._patch_step_function()
        defaults = self.__dict__.setdefault("defaults", {})
        for group in self.param_groups:
            for name, default in defaults.items():
                group.setdefault(name, default)

    def register_step_pre_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` before `step`; it may return other arguments."""
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` after `step`."""
        return register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` before `state_dict`."""
        return register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` before `load_state_dict`; it may return another one."""
        return register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` after `load_state_dict`."""
        return register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self):
        parts = []
        for i, group in enumerate(self.param_groups):
            settings = sorted(key for key in group if key != "params")
            parts.append("\n".join([f"Parameter Group {i}", *(f"    {key}: {group[key]}" for key in settings)]))
        return f"{type(self).__name__} (\n" + "\n\n".join(parts) + "\n)"


Optimizer.step = _with_hooks(Optimizer.step)


def _real_view(value):
    return _C.view_as_real(value) if isinstance(value, _C.Tensor) and value.is_complex() else value


def _as_tensor(name, number):
    if isinstance(number, _C.Tensor):
        return number
    return _C.tensor(number, dtype=_C.float32 if name == "step" else _C.float64)


def _cast(value, param, scalars):
    """A copy of saved state, with tensors on the parameter's device and those of floating point in its dtype; not what has one of the names `scalars`."""
    if isinstance(value, _C.Tensor):
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.detach().to(param.device, dtype).clone()
    if isinstance(value, dict):
        return {key: deepcopy(item) if key in scalars else _cast(item, param, scalars) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, param, scalars) for item in value)
    return value
