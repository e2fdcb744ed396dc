"""Calls of a module with other parameters and buffers than its own, under their name before `opforge.func`."""

from __future__ import annotations

import contextlib

from ._named_member_accessor import NamedMemberAccessor


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """`opforge.func.functional_call` with one dictionary."""
    from ...func import functional_call

    return functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """The module has these tensors, by their names, in place of its own within the block."""
    accessor = NamedMemberAccessor(module)
    if tie_weights:
        parameters_and_buffers = _tied(module, parameters_and_buffers)
    if strict:
        missing, unexpected = accessor.check_keys(parameters_and_buffers)
        if missing or unexpected:
            raise RuntimeError(f"Error(s) in reparametrizing {type(module).__name__}: missing: {missing}, unexpected: {unexpected}")
    before = accessor.swap_tensors_dict(parameters_and_buffers)
    try:
        yield
    finally:
        changed = accessor.swap_tensors_dict(before)
        parameters_and_buffers.update({name: changed[name] for name in parameters_and_buffers})


def _tied(module, tensors):
    """The tensors also under the other names of those of the module that they stand for."""
    named = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    given = {id(named[name]): tensor for name, tensor in tensors.items() if name in named}
    return {name: given[id(tensor)] for name, tensor in named.items() if id(tensor) in given} | tensors
