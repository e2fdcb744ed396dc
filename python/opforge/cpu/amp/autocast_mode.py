"""`autocast` of the CPU under its older name."""

from ...amp._older import cpu_autocast as autocast

__all__ = ["autocast"]
