"""Calls of a module with other parameters and buffers than its own, under their name before `opforge.func`."""

from __future__ import annotations


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """`opforge.func.functional_call` with one dictionary."""
    from ...func import functional_call

    return functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
