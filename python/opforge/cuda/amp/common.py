"""What programs ask before they use mixed precision on CUDA."""

from ..devices import is_available


def amp_definitely_not_available():
    """Whether there is surely none: whether there is no GPU."""
    return not is_available()
