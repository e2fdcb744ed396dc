"""What programs ask about CUDA before they use it. This build has none."""


def is_available() -> bool:
    """Whether tensors can be on CUDA devices."""
    return False


def device_count() -> int:
    """The number of CUDA devices."""
    return 0


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all CUDA devices, of which there are none."""


manual_seed = manual_seed_all


def synchronize(device=None) -> None:
    """Waits for all CUDA devices, of which there are none."""


def empty_cache() -> None:
    """Frees unused memory of CUDA devices, of which there are none."""
