"""Weight normalization by hooks, as it was before parametrizations."""

from __future__ import annotations

from ... import _core as _C
from ..parameter import Parameter, is_lazy


def norm_except_dim(v, pow=2, dim=0):
    """The norms of order `pow` over all dimensions but `dim`, which keep their places; over all of them, without dimensions, for `dim=-1`."""
    if dim == -1:
        return _C.linalg.vector_norm(v, pow)
    rest = [d for d in range(v.dim()) if d != dim]
    return _C.linalg.vector_norm(v, pow, rest, keepdim=True) if rest else v.abs()


class WeightNorm:
    """The hook that computes `module.name` from its length `name_g` and its direction `name_v` before each forward."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """`g v / ‖v‖`."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    @staticmethod
    def apply(module, name, dim):
        """Registers the hook; a module has one for each name."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        if is_lazy(weight):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before.")
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, 2, hook.dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        for part in "gv":
            del module._parameters[f"{self.name}_{part}"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Has `module.name` be `g v / ‖v‖`, computed before each forward from the parameters `name_g` and `name_v`: lengths for each index along `dim`, or
    one for all if that is None. Returns the module. [`parametrizations.weight_norm`](parametrizations.py) is newer."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Undoes [`weight_norm`]; returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
