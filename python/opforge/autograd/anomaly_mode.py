"""The search for the operator whose gradient is NaN, which opforge does not have: programs may switch it off."""

from __future__ import annotations

import contextlib

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(contextlib.ContextDecorator):
    """Switches the search off, which it is. Raises NotImplementedError for `mode=True`."""

    def __init__(self, mode: bool, check_nan: bool = True):
        if mode:
            raise NotImplementedError("detect_anomaly: backward does not look for NaN (accepted: set_detect_anomaly(False))")

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None


def detect_anomaly(check_nan: bool = True):
    """Raises NotImplementedError: backward does not look for NaN."""
    return set_detect_anomaly(True, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether backward looks for NaN: never."""
    return False


is_anomaly_check_nan_enabled = is_anomaly_enabled
