"""The seed of what is drawn."""

from __future__ import annotations

import random

import numpy as np

from .. import manual_seed

_seed = None


def set_seed(seed):
    """Begins the series of numbers that operators draw, and those of numpy and Python, anew. Raises `ValueError` for a negative seed.

    >>> set_seed(1)
    >>> get_seed()
    1
    """
    global _seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"set_seed: seed is {seed!r} (accepted: an int from 0 on)")
    _seed = seed
    manual_seed(seed)
    np.random.seed(seed % (1 << 32))
    random.seed(seed)


def get_seed():
    """What `set_seed` was given, None if it was not called."""
    return _seed
