"""PyTorch's dispatch keys, by which packages name who runs an operator. opforge chooses by itself: keys are names, and guards change nothing."""

from __future__ import annotations

import enum

_NAMES = """
Undefined CPU CUDA HIP XPU MPS Meta QuantizedCPU SparseCPU SparseCUDA MkldnnCPU BackendSelect Python PythonDispatcher FuncTorchBatched Functionalize
ADInplaceOrView AutogradCPU AutogradCUDA AutogradMPS AutogradXPU AutogradMeta AutogradOther AutogradFunctionality Autograd AutocastCPU AutocastCUDA AutocastXPU
AutocastMPS CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional CompositeImplicitAutograd
"""
DispatchKey = enum.Enum("DispatchKey", _NAMES.split())


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key):
        """Whether a key is in it."""
        return key in self._keys


class _ExcludeDispatchKeyGuard:
    """A context without some keys: nothing is different."""

    def __init__(self, keys):
        self._keys = keys

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether a kernel was registered: none is, by a key."""
    return False


_dispatch_has_computed_kernel_for_dispatch_key = _dispatch_has_kernel_for_dispatch_key
