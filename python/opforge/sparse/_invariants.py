"""Whether constructors check what cannot be seen at once."""

from __future__ import annotations

import functools


class check_sparse_tensor_invariants:
    """PyTorch's switch of checks. Indices are checked here whatever it says; it is there for programs that set it."""

    _enabled = False

    def __init__(self, enable=True):
        self._wanted, self._before = bool(enable), []

    @classmethod
    def is_enabled(cls):
        """Whether the switch is on."""
        return check_sparse_tensor_invariants._enabled

    @classmethod
    def enable(cls):
        """Switches it on."""
        check_sparse_tensor_invariants._enabled = True

    @classmethod
    def disable(cls):
        """Switches it off."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self._wanted

    def __exit__(self, *exception):
        check_sparse_tensor_invariants._enabled = self._before.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return checked
