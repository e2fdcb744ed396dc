"""PyTorch's `torch.distributed.tensor`: the face of global tensors with meshes and placements. `opforge.placement` and `opforge.sbp` say the same."""

from __future__ import annotations

from ..device_mesh import DeviceMesh, init_device_mesh
from ._dtensor import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = """
DTensor DeviceMesh Partial Placement Replicate Shard distribute_module distribute_tensor empty full init_device_mesh ones rand randn zeros
""".split()
