"""What programs ask about Intel's GPUs before they use them. opforge has no kernels for them: see `_absent/accelerators.py`."""

from __future__ import annotations

from ._absent.accelerators import absent_device

globals().update(absent_device("XPU"))
