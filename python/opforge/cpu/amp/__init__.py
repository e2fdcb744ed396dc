"""Mixed precision on the CPU under its older names: see `opforge.amp`."""

from . import autocast_mode, grad_scaler
from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "grad_scaler"]
