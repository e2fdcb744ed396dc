"""Names of `fx` under the file that PyTorch has them in."""

from __future__ import annotations

from . import Graph, Node, Proxy

__all__ = ["Graph", "Node", "Proxy"]
