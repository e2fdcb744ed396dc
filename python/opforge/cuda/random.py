"""Random numbers on CUDA devices: they are the default generator's, as those of the CPU, so that a seed gives the same numbers on each."""

from __future__ import annotations

from .. import random as _random
from . import devices

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all",
]  # fmt: skip


def manual_seed(seed) -> None:
    """Seeds the default generator where there is a GPU; else nothing happens."""
    if devices.is_available():
        _random.manual_seed(seed)


def seed() -> None:
    """Seeds the default generator with a number of the system's where there is a GPU; else nothing happens."""
    if devices.is_available():
        _random.seed()


def initial_seed() -> int:
    """What the default generator was seeded with last."""
    devices.number(None)
    return _random.initial_seed()


def get_rng_state(device="cuda"):
    """The default generator's state."""
    devices.number(device)
    return _random.get_rng_state()


def set_rng_state(new_state, device="cuda") -> None:
    """Sets the default generator's state."""
    devices.number(device)
    _random.set_rng_state(new_state)


def get_rng_state_all() -> list:
    """The default generator's state, once a device."""
    return [get_rng_state(index) for index in range(devices.device_count())]


def set_rng_state_all(new_states) -> None:
    """Sets the default generator's state to the last of these."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


manual_seed_all, seed_all = manual_seed, seed
