"""Pruning: parameters whose elements are masked to 0 by a rule.

A pruned parameter `weight` is the product of the parameter `weight_orig` and the buffer `weight_mask`, computed before each forward. Rules may follow
each other: each sees what those before it left.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ... import _core as _C


class BasePruningMethod(ABC):
    """A rule, and the hook that applies its mask to `module.<_tensor_name>`. A subclass writes `compute_mask`, and says in `PRUNING_TYPE` what it
    sees of an already pruned tensor: "unstructured", a vector of the elements that are left; "structured", the slices along `self.dim` that
    are; "global", everything.
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask of ones and zeros for importances `t`; `default_mask` is the one so far, of the same shape."""

    def apply_mask(self, module):
        """The parameter times its mask."""
        mask, original = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes `module.name` by this rule, made of the arguments, after those it has already; returns the hook. `importance_scores`, of the
        parameter's shape, stand for its elements."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        parameter, former = getattr(module, name), _taken_hook(module, name)
        method = method if former is None else _combined(former, method)
        if importance_scores is not None and importance_scores.shape != parameter.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {tuple(importance_scores.shape)} vs {tuple(parameter.shape)}"
            )
        scores = parameter if importance_scores is None else importance_scores
        if former is None:
            original = module._parameters[name]
            default, put_back = _C.ones_like(original), lambda: None
        else:
            original = getattr(module, f"{name}_orig")
            default, put_back = getattr(module, f"{name}_mask"), lambda: module.register_forward_pre_hook(former)
        try:
            mask = method.compute_mask(scores.detach(), default.detach())
        except Exception:
            put_back()
            raise
        if former is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor, of no module, times the mask that the rule gives for it."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = _C.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask=mask)

    def remove(self, module):
        """Makes the masked parameter a plain one; call [`remove`], which takes the hook away too."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.detach()
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _taken_hook(module, name):
    """The hook that prunes a parameter, taken out of the module; None without one."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            del module._forward_pre_hooks[key]
            return hook
    return None


def _combined(former, method):
    """The rules of a hook, and this one after them."""
    container = PruningContainer()
    container._tensor_name = former._tensor_name
    for one in former if isinstance(former, PruningContainer) else [former]:
        container.add_pruning_method(one)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Rules for one tensor, in the order in which they were applied."""

    def __init__(self, *args):
        self._pruning_methods = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for method in methods:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method).__name__} is not a BasePruningMethod subclass")
        if methods:
            self._tensor_name = next(iter(methods))._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a rule for the same tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(f"a container for tensor named '{self._tensor_name}' takes no pruning method for '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """The mask so far, with what the last rule takes of what it left."""
        method, kind = self._pruning_methods[-1], getattr(self._pruning_methods[-1], "PRUNING_TYPE", None)
        mask = default_mask.clone()
        if kind == "unstructured":
            seen = default_mask == 1
        elif kind == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(f'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined: {type(method).__name__}')
            dim = method.dim % t.dim()
            rest = [d for d in range(t.dim()) if d != dim]
            seen = (slice(None),) * dim + ((default_mask != 0).any(rest) if rest else default_mask != 0,)
        elif kind == "global":
            seen = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask[seen] = method.compute_mask(t[seen], default_mask=mask[seen]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Masks nothing: it gives a parameter the form of pruned ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _Amount(BasePruningMethod):
    """A rule for a number of units, or for a part of them between 0.0 and 1.0."""

    def __init__(self, amount):
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def count(self, units):
        """How many of `units` are masked."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * units)
        if self.amount > units:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={units}")
        return self.amount


def _lowest_masked(default_mask, importances, count):
    """The mask with zeros for the `count` lowest of all elements."""
    mask = default_mask.clone()
    if count:
        lowest = importances.reshape(-1).topk(count, largest=False).indices
        mask = mask.reshape(-1).index_fill(0, lowest, 0).reshape(default_mask.shape)
    return mask


class RandomUnstructured(_Amount):
    """Masks elements drawn at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return _lowest_masked(default_mask, _C.rand(t.shape, device=t.device), self.count(t.numel()))


class L1Unstructured(_Amount):
    """Masks the elements of the least absolute values."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return _lowest_masked(default_mask, t.abs(), self.count(t.numel()))


class _Slices(_Amount):
    """A rule for slices along `dim`; those of the lowest `importance` are masked."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.dim() < 2:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {tuple(t.shape)} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        kept = _lowest_masked(_C.ones(t.shape[self.dim], device=t.device), self.importance(t), self.count(t.shape[self.dim]))
        shape = [-1 if d == self.dim % t.dim() else 1 for d in range(t.dim())]
        return default_mask * kept.reshape(shape).to(default_mask.dtype)


class RandomStructured(_Slices):
    """Masks slices along `dim` drawn at random."""

    def importance(self, t):
        """A number for each slice."""
        return _C.rand(t.shape[self.dim], device=t.device)


class LnStructured(_Slices):
    """Masks the slices along `dim` of the least norms of order `n`."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def importance(self, t):
        """The norm of each slice."""
        return _C.norm(t, self.n, [d for d in range(t.dim()) if d != self.dim % t.dim()])


class CustomFromMask(BasePruningMethod):
    """Masks what is 0 in a mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask of shape {tuple(self.mask.shape)}, expected {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module, name):
    """Gives `module.name` the form of a pruned parameter, with a mask of ones; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Masks elements of `module.name` drawn at random: `amount` of them, or this part of them if it is a float. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Masks the elements of `module.name` of the least absolute values, or the least scores. Returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Masks slices of `module.name` along `dim` drawn at random. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Masks the slices of `module.name` along `dim` of the least norms of order `n`. Returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Masks what is 0 in `mask`, of the shape of `module.name`. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Masks elements of all `parameters`, pairs of module and name, by one rule that sees them as one vector: a class of `PRUNING_TYPE`
    "unstructured" that is made of the other arguments. `importance_scores` has scores for pairs."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters, given = list(parameters), {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    weights = [getattr(module, name) for module, name in parameters]
    scores = _C.cat([given.get(pair, weight).detach().reshape(-1) for pair, weight in zip(parameters, weights)])
    masks = [getattr(module, f"{name}_mask", _C.ones_like(weight)) for (module, name), weight in zip(parameters, weights)]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found {method.PRUNING_TYPE}')
    mask = PruningContainer(method).compute_mask(scores, _C.cat([mask.detach().reshape(-1) for mask in masks]))
    for (module, name), weight, part in zip(parameters, weights, mask.split([weight.numel() for weight in weights])):
        custom_from_mask(module, name, part.view_as(weight))


def remove(module, name):
    """Makes a pruned parameter a plain one again, masked as it is. Returns the module."""
    hook = _taken_hook(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    return module


def is_pruned(module):
    """Whether a parameter of the module, or of one below, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values())
