"""Blocks in which operators are called below autograd: as an autograd.Function's forward calls the operator that it is the gradient of."""

from __future__ import annotations

import threading

from .. import _core


class _Thread(threading.local):
    blocks = 0


thread = _Thread()


class _AutoDispatchBelowAutograd:
    """A block in which nothing is recorded and operators of `opforge.library` run their kernels, whatever was declared for the key "Autograd"."""

    def __enter__(self):
        self._before = _core.is_grad_enabled()
        _core.set_grad_mode(False)
        thread.blocks += 1
        return self

    def __exit__(self, *exception):
        thread.blocks -= 1
        _core.set_grad_mode(self._before)
