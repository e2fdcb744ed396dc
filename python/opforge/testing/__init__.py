"""What tests of tensors use."""

from __future__ import annotations

from ._close import assert_allclose, assert_close
from ._make import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
