"""The state of random numbers."""

from __future__ import annotations

import contextlib

from . import _core
from ._core import Generator, default_generator, get_rng_state, initial_seed
from ._calls.tracing import refuse

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def _restored(device, state):
    """A generator with a state: what copies and pickles are made of."""
    return Generator(device).set_state(state)


_REASON = "the state of random numbers is set, and graphs draw them when they run"


def manual_seed(seed):
    """Seeds the default generator, which it returns: the same numbers follow each time."""
    refuse(_REASON)
    return _core.manual_seed(seed)


def seed():
    """Seeds the default generator with a number of the system's, which it returns."""
    refuse(_REASON)
    return _core.seed()


def set_rng_state(new_state):
    """Sets the default generator's state to what `get_rng_state` gave."""
    refuse(_REASON)
    _core.set_rng_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """A context after which random numbers go on as if nothing had been drawn in it. Devices are ignored: random numbers come from the CPU."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
