"""Tensors of a module by their full names, whatever they are: parameters, buffers or attributes."""

from __future__ import annotations

from ... import _core

_NOTHING = object()


def _swap(module, name, tensor):
    """Puts a tensor in the place of that name, without asking whether it is a parameter; returns the one before. `_NOTHING` takes it away."""
    for place in (module._parameters, module._buffers, module.__dict__):
        if name in place:
            break
    else:
        place = module._parameters if isinstance(tensor, _core.Tensor) else module.__dict__
    before = place.get(name, _NOTHING)
    if tensor is _NOTHING:
        place.pop(name, None)
    else:
        place[name] = tensor
    return before


def swap_tensor(module, name, tensor, allow_missing=False):
    """Puts a tensor in the place of that name and returns the one before."""
    if "." in name or not name:
        raise KeyError(f"swap_tensor: tensor name {name!r} is empty or has a dot")
    if not allow_missing and not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return _swap(module, name, tensor)


class NamedMemberAccessor:
    """Reads and exchanges a module's tensors by their full names, such as `layers.0.weight`."""

    def __init__(self, module):
        self.module = module

    def get_submodule(self, name):
        """The module of that name; "" is the module itself."""
        return self.module.get_submodule(name)

    def get_tensor(self, name):
        """The tensor of that name."""
        prefix, _, last = name.rpartition(".")
        found = getattr(self.get_submodule(prefix), last)
        if found is not None and not isinstance(found, _core.Tensor):
            raise TypeError(f"{name}: {found!r} is not an instance of Tensor")
        return found

    def swap_tensor(self, name, value, *, allow_missing=False):
        """Puts a tensor in the place of that name and returns the one before."""
        prefix, _, last = name.rpartition(".")
        return swap_tensor(self.get_submodule(prefix), last, value, allow_missing)

    def swap_tensors_dict(self, named_tensors, *, allow_missing=False):
        """Exchanges several; returns those before, by name. Nothing is changed if one is not there."""
        for name in () if allow_missing else named_tensors:
            self.get_tensor(name)
        return {name: self.swap_tensor(name, tensor, allow_missing=allow_missing) for name, tensor in named_tensors.items()}

    def check_keys(self, keys):
        """The names that are missing from `keys`, and those that the module does not have, sorted."""
        own = {name for name, _ in (*self.module.named_parameters(remove_duplicate=False), *self.module.named_buffers(remove_duplicate=False))}
        return sorted(own - set(keys)), sorted(set(keys) - own)
