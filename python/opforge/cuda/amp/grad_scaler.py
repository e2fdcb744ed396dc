"""`GradScaler` of CUDA under its older name."""

from ...amp._older import cuda_GradScaler as GradScaler
from ...amp.grad_scaler import OptState

__all__ = ["GradScaler", "OptState"]
