"""`DTensor`: PyTorch's face of global tensors."""

from __future__ import annotations

from ... import _core
from ..._global import convert as _convert
from ...autograd.grad_mode import no_grad
from ..device_mesh import DeviceMesh
from .placement_types import Replicate, of_sbp, to_sbp


class _Global(type(_core.Tensor)):
    """Global tensors are instances, whatever their class."""

    def __instancecheck__(cls, tensor):
        return isinstance(tensor, _core.Tensor) and _core._distribution(tensor) is not None


class DTensor(_core.Tensor, metaclass=_Global):
    """A tensor of all ranks of a mesh, of which each has a part. Global tensors are instances: `isinstance(x, DTensor)` asks whether `x` is one.

    They are made by `distribute_tensor`, `DTensor.from_local`, and by operators of others. Operators, views, changes in place and gradients are those of local
    tensors, whatever the lengths of parts.
    """

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None):
        """The tensor of which ranks have these parts: joined along sharded dimensions, whatever their lengths; where they are replicated, those of the first
        rank. `shape` is checked where it is given. All ranks of the program call it."""
        mesh = _mesh(device_mesh)
        made = _core._from_part(local_tensor, _text("from_local", mesh, placements, local_tensor.dim()))
        if shape is not None and tuple(shape) != tuple(made.shape):
            raise ValueError(f"DTensor.from_local: shape={tuple(shape)}, but the parts make {tuple(made.shape)}")
        return made


def _mesh(mesh):
    if mesh is None:
        from ..device_mesh import init_device_mesh
        from .._state import get_world_size

        return init_device_mesh("cpu", (get_world_size(),))
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(f"device_mesh must be a DeviceMesh, not {type(mesh).__name__}")
    return mesh


def _text(name, mesh, placements, rank):
    given = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(given) != mesh.ndim:
        raise ValueError(f"{name}: {len(given)} placements, expected {mesh.ndim}, one for each dimension of the mesh")
    return _convert.text(name, mesh._placement, [to_sbp(one, rank) for one in given])


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """The tensor that all ranks have, spread over a mesh: as its first rank has it. A leaf that needs a gradient gives another one.

    Raises TypeError or ValueError for placements that do not go with the mesh, IndexError for dimensions that the tensor does not have.
    """
    mesh = _mesh(device_mesh)
    if _core._distribution(tensor) is not None:
        return redistribute(tensor, mesh, placements)
    with no_grad():
        made = _core._distribute(tensor, _text("distribute_tensor", mesh, placements, tensor.dim()))
    return made.requires_grad_(tensor.requires_grad)


def redistribute(self, device_mesh=None, placements=None, *, async_op=False):
    """The same tensor with other placements, or on another mesh; its gradient comes back. Raises RuntimeError for a local tensor."""
    placement, sbp = _convert._known(self, "redistribute")
    old = [of_sbp(one) for one in sbp]
    mesh = DeviceMesh(placement.type, placement.ranks) if device_mesh is None else _mesh(device_mesh)
    return _core._redistribute(self, _text("redistribute", mesh, old if placements is None else placements, self.dim()))


def _of_global(name, get):
    """An attribute that only global tensors have, by which packages tell them: `get` makes it of placement and sbp, after the tensor."""

    def found(self):
        parts = _convert.parts(self)
        if parts is None:
            raise AttributeError(f"'Tensor' object has no attribute '{name}': it is local")
        return get(self, *parts)

    return property(found, doc=get.__doc__)


def _full_tensor(self, _placement, _sbp):
    """`full_tensor()`: all of it, as a local tensor on every rank of the mesh."""
    return lambda *, grad_placements=None: self.to("cpu")


device_mesh = _of_global("device_mesh", lambda _, placement, sbp: DeviceMesh(placement.type, placement.ranks))
placements = _of_global("placements", lambda _, placement, sbp: tuple(of_sbp(one) for one in sbp))
full_tensor = _of_global("full_tensor", _full_tensor)


def _creating(name):
    def create(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None, **options):
        mesh = _mesh(device_mesh)
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        with no_grad():
            made = getattr(_core, name)(shape, dtype=dtype, device=mesh._placement.device, **options)
            made = _core._redistribute(made, _text(name, mesh, placements, made.dim()))
        return made.requires_grad_(requires_grad)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"`opforge.{name}` on a mesh. Random numbers are those of one process, whatever the placements."
    return create


zeros, ones, empty, rand, randn = (_creating(name) for name in "zeros ones empty rand randn".split())


def full(size, fill_value, *, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """`opforge.full` on a mesh."""
    return _creating("full")(size, fill_value=fill_value, requires_grad=requires_grad, dtype=dtype, device_mesh=device_mesh, placements=placements)


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Makes a module's parameters and buffers global, in place, and gives it: `partition_fn(name, submodule, mesh)` first replaces those that are to be sharded;
    the others are replicated. `input_fn(module, inputs, mesh)` and `output_fn(module, outputs, mesh)` convert what goes in and comes out."""
    mesh = _mesh(device_mesh)
    if partition_fn is not None:
        for name, submodule in module.named_modules():
            partition_fn(name, submodule, mesh)
    for submodule in module.modules():
        for parameter in submodule._parameters.values():
            if parameter is not None and _core._distribution(parameter) is None:
                parameter.data = distribute_tensor(parameter.data, mesh)
        for name, buffer in submodule._buffers.items():
            if buffer is not None and _core._distribution(buffer) is None:
                submodule._buffers[name] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda module, inputs: input_fn(module, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda module, inputs, outputs: output_fn(module, outputs, mesh))
    return module
