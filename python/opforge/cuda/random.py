"""The functions of `cuda` about random numbers."""

from __future__ import annotations

from .. import cuda as _cuda

_NAMES = "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all"
globals().update({name: getattr(_cuda, name) for name in _NAMES.split()})
