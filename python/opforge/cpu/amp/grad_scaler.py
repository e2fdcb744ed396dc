"""`GradScaler` of the CPU under its older name."""

from ...amp._older import cpu_GradScaler as GradScaler

__all__ = ["GradScaler"]
