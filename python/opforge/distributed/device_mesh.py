"""Grids of ranks, as `torch.distributed.device_mesh` has them: a mesh is a placement whose dimensions have names."""

from __future__ import annotations

from .. import _core
from .._global.placement import placement as _Placement
from . import _state

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in a grid: `DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))`. Every rank of the program makes it.

    `mesh["tp"]` is the part of it along that dimension which this rank is in. Raises ValueError for ranks that are there twice or names that do not go with
    the dimensions; DeviceError for types of devices that this build does not have.
    """

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, backend_override=None, _init_backend=True, _root=None):
        if not _state.is_initialized() and _init_backend:
            _state.init_process_group()
        ranks = mesh.tolist() if hasattr(mesh, "tolist") else mesh
        self._placement = _Placement(device_type, ranks)
        if mesh_dim_names is not None and (len(set(mesh_dim_names)) != len(mesh_dim_names) or len(mesh_dim_names) != self.ndim):
            raise ValueError(f"DeviceMesh: mesh_dim_names={mesh_dim_names}, expected {self.ndim} different names")
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root, self._groups = _root, {}

    @property
    def device_type(self) -> str:
        return self._placement.type

    @property
    def mesh(self):
        """The ranks, as a tensor of integers."""
        return _core.tensor(self._placement.ranks)

    @property
    def ndim(self) -> int:
        return len(self._placement.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._placement.shape

    def size(self, mesh_dim=None) -> int:
        """How many ranks there are, in all or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.shape[self._dim(mesh_dim)]

    def _dim(self, mesh_dim) -> int:
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim}: the mesh has {self.mesh_dim_names}")
            return self.mesh_dim_names.index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"DeviceMesh: mesh_dim={mesh_dim}, expected a dimension of {self.shape}")
        return mesh_dim % self.ndim

    def get_rank(self) -> int:
        """This process's number in the world."""
        return _state.get_rank()

    def get_coordinate(self) -> list[int] | None:
        """Where this process is in the mesh; None if it is not."""
        found = (self.mesh == self.get_rank()).nonzero()
        return found[0].tolist() if len(found) else None

    def get_local_rank(self, mesh_dim=None) -> int:
        """This process's number along a dimension. Raises RuntimeError without one in a mesh of several, and on ranks that are not in the mesh."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions: mesh_dim must be given")
        coordinate = self.get_coordinate()
        if coordinate is None:
            raise RuntimeError("get_local_rank: this process is not in the mesh")
        return coordinate[self._dim(mesh_dim or 0)]

    def __getitem__(self, names) -> DeviceMesh:
        """The part of the mesh along dimensions, by their names, in which this process is."""
        names = (names,) if isinstance(names, str) else tuple(names)
        kept = [self._dim(name) for name in names]
        coordinate = self.get_coordinate()
        if coordinate is None:
            raise RuntimeError("DeviceMesh: this process is not in the mesh")
        others = [dim for dim in range(self.ndim) if dim not in kept]
        ranks = self.mesh.permute(*others, *kept)
        for dim in others:
            ranks = ranks[coordinate[dim]]
        return DeviceMesh(self.device_type, ranks, mesh_dim_names=names, _root=self._root or self)

    def get_group(self, mesh_dim=None):
        """The process group of the ranks along a dimension that this process is in. All ranks of the mesh call it alike."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions: mesh_dim must be given")
        dim = self._dim(mesh_dim or 0)
        if dim not in self._groups:
            rows = self.mesh.movedim(dim, -1).reshape(-1, self.shape[dim]).tolist()
            made = [_state.new_group(row) for row in rows]
            mine = [group for row, group in zip(rows, made, strict=True) if self.get_rank() in row]
            self._groups[dim] = mine[0] if mine else _state.GroupMember.NON_GROUP_MEMBER
        return self._groups[dim]

    def get_all_groups(self) -> list:
        """The groups along each dimension."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def __eq__(self, other):
        return isinstance(other, DeviceMesh) and self._placement == other._placement

    def __hash__(self):
        return hash(self._placement)

    def __repr__(self):
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh('{self.device_type}', {self._placement.ranks}{names})"


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None) -> DeviceMesh:
    """All ranks of the program in a grid of a shape: `init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))`. Begins the process group if need be.

    Raises ValueError if the shape is not that of as many ranks as there are.

    >>> from opforge.distributed.device_mesh import init_device_mesh
    >>> init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
    DeviceMesh('cpu', [0], mesh_dim_names=('dp',))
    >>> import opforge
    >>> opforge.distributed.destroy_process_group()
    """
    if not _state.is_initialized():
        _state.init_process_group()
    count = 1
    for length in mesh_shape:
        count *= length
    if count != _state.get_world_size():
        raise ValueError(f"init_device_mesh: mesh_shape={tuple(mesh_shape)}, expected the shape of {_state.get_world_size()} ranks")
    mesh = _core.arange(count).reshape(*mesh_shape)
    return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)
