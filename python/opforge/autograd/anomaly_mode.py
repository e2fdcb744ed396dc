"""PyTorch's search for NaN in backward, which opforge does not make. Programs that leave it off run; to turn it on is an error."""

from __future__ import annotations


def is_anomaly_enabled() -> bool:
    """Whether backward looks for NaN: never."""
    return False


is_anomaly_check_nan_enabled = is_anomaly_enabled


class set_detect_anomaly:
    """Leaves the search off, at once and as a context. Raises NotImplementedError for `mode=True`."""

    def __init__(self, mode, check_nan=True):
        if mode:
            raise NotImplementedError("set_detect_anomaly(True): opforge does not look for NaN in backward; register_hook of tensors shows gradients")

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None


class detect_anomaly(set_detect_anomaly):
    """A context that looks for NaN: a NotImplementedError."""

    def __init__(self, check_nan=True):
        super().__init__(True)
