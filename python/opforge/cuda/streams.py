"""The streams and events of `cuda`."""

from __future__ import annotations

from . import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
