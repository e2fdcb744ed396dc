"""`SummaryWriter`, of the package tensorboardX where it is installed: it takes opforge's tensors. PyTorch's own writer is part of PyTorch."""

from __future__ import annotations

try:
    from tensorboardX import SummaryWriter
except ImportError:
    raise ImportError("utils.tensorboard: needs the package tensorboardX (pip install tensorboardX)") from None

__all__ = ["SummaryWriter"]
