"""Errors where a backward pass gives NaN: a mode for finding out where losses go wrong. It is on or off for all threads."""

from __future__ import annotations

from .. import _core

_enabled = False
_check_nan = True


def is_anomaly_enabled() -> bool:
    """Whether gradients are checked."""
    return _enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN is an error where gradients are checked."""
    return _check_nan


def set_anomaly_enabled(enabled, check_nan=True):
    """Has backward passes check the gradients that functions give, or no longer."""
    global _enabled, _check_nan
    _enabled, _check_nan = bool(enabled), bool(check_nan)
    _core._set_nan_checks(_enabled and _check_nan)


class set_detect_anomaly:
    """Turns the checks on or off; as a context manager, until the end of the block."""

    def __init__(self, mode, check_nan=True):
        self._before = _enabled, _check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        set_anomaly_enabled(*self._before)


class detect_anomaly:
    """In the block, a function whose gradient has NaN is a RuntimeError of the backward pass, which names the function, and adds nothing to `grad`. Each
    check waits for its gradient.

    >>> x = opforge.tensor([0.0], requires_grad=True)
    >>> with opforge.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output
    """

    def __init__(self, check_nan=True):
        self._wanted = True, check_nan

    def __enter__(self):
        self._before = _enabled, _check_nan
        set_anomaly_enabled(*self._wanted)

    def __exit__(self, *exception):
        set_anomaly_enabled(*self._before)
