"""`autocast` of CUDA under its older name."""

from ...amp._older import cuda_autocast as autocast
from ...amp._older import cuda_custom_bwd as custom_bwd
from ...amp._older import cuda_custom_fwd as custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
