"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

from contextlib import contextmanager

from ... import _core as _C


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """What the module gives when these tensors, by their dotted names, stand in the places of its own.

    `args` is a tuple of arguments, or one argument. Tensors that are one under several names are replaced together if `tie_weights`, and must not be
    given differently: ValueError. With `strict` the names must be those of the module: RuntimeError. Without, names that it does not have are ignored.
    What the module assigns to its buffers meanwhile is put into the dictionary.
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module, tensors, *, tie_weights=True, strict=False):
    """Within the block these tensors stand in the places of the module's own."""
    own = dict(_named_tensors(module))
    unexpected = [name for name in tensors if name not in own and not _is_attribute(module, name)]
    _check_names(module, tensors, own, unexpected, strict)
    known = {name: tensor for name, tensor in tensors.items() if name not in unexpected}
    given = _with_ties(known, own) if tie_weights else known
    places = {name: _place(module, name) for name in given}
    before = {name: _swap(*place, given[name]) for name, place in places.items()}
    try:
        yield
    finally:
        for name, place in places.items():
            now = _swap(*place, before[name])
            if name in tensors:
                tensors[name] = now


def _named_tensors(module):
    """All parameters and buffers by dotted names, under every name that they have."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _check_names(module, tensors, own, unexpected, strict):
    missing = [name for name in own if name not in tensors]
    if strict and (unexpected or missing):
        raise RuntimeError(f"Error(s) in replacing tensors of {type(module).__name__}: unexpected {unexpected}, missing {missing}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"{tensor} is not an instance of Tensor: '{name}'")


def _is_attribute(module, name):
    """Whether a dotted name leads to a tensor that is computed, as parametrized ones are."""
    try:
        for part in name.split("."):
            module = getattr(module, part)
    except AttributeError:
        return False
    return isinstance(module, _C.Tensor)


def _with_ties(tensors, own):
    """The tensors under every name of what they replace."""
    names_of = {}
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for names in names_of.values():
        given = {id(tensors[name]): tensors[name] for name in names if name in tensors}
        if len(given) > 1:
            raise ValueError(f"functional_call got multiple values for keys {names}, which are tied. Consider using tie_weights=False")
        result.update((name, tensor) for name in names for tensor in given.values())
    return result


def _place(module, name):
    """The module, and the name in it, that a dotted name leads to."""
    path, _, last = name.rpartition(".")
    return module.get_submodule(path), last


def _swap(module, name, tensor):
    """Puts a tensor, or None for nothing, in the place of a name; returns what was there."""
    for table in (module._parameters, module._buffers):
        if name in table:
            before, table[name] = table[name], tensor
            return before
    # A computed attribute: one of the instance comes before it.
    before = module.__dict__.pop(name, None)
    if tensor is not None:
        module.__dict__[name] = tensor
    return before
