"""What programs ask before they use mixed precision on CUDA."""


def amp_definitely_not_available():
    """Whether there is surely none: there is no CUDA."""
    return True
