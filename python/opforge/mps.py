"""Apple's GPUs under PyTorch's name: on their machines the devices of `opforge.wgpu`, elsewhere absent."""

from __future__ import annotations

import sys

from ._absent.accelerators import absent_device

if sys.platform == "darwin":
    globals().update(absent_device("MPS", "calls have one queue, without events, and memory is not counted"))
    # One generator serves all devices.
    from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: F401
    from .wgpu import current_device, device_count, get_device_name, is_available, is_initialized, synchronize  # noqa: F401
else:
    globals().update(absent_device("MPS"))
