"""What programs ask about Apple's GPUs before they use them. This build has no kernels for them: see `_accelerators`."""

from __future__ import annotations

from ._absent.accelerators import absent_device

globals().update(absent_device("MPS"))
