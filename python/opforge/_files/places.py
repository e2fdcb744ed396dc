"""Where tensors of files are brought: `map_location` of `load`."""

from __future__ import annotations

from .. import _core
from ..autograd.grad_mode import no_grad


def mover(map_location):
    """What brings a tensor, which is read to main memory, from the device of that name to where `map_location` says."""
    chosen = _chooser(map_location)
    moved = {}

    @no_grad()
    def move(tensor, location="cpu"):
        device = chosen(tensor, location)
        if device is None or device == tensor.device:
            return tensor
        # Views of one storage stay so.
        storage = tensor.untyped_storage()
        if (storage, tensor.dtype) not in moved:
            whole = _core._rebuild_tensor(_core.Tensor, storage, tensor.dtype, 0, (storage.nbytes() // tensor.itemsize,), (1,))
            moved[storage, tensor.dtype] = whole.to(device)
        there = moved[storage, tensor.dtype].untyped_storage()
        return _core._rebuild_tensor(_core.Tensor, there, tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())

    return move


def _chooser(map_location):
    """Gives the device for a tensor and the name of that which it was on; None leaves it in main memory."""
    if map_location is None:
        return lambda tensor, location: _restored(location)
    if isinstance(map_location, dict):
        targets = {str(source): _core.device(target) for source, target in map_location.items()}
        return lambda tensor, location: targets.get(location, _restored(location))
    if callable(map_location):
        return lambda tensor, location: _answer(map_location(tensor.untyped_storage(), location), location)
    device = _core.device(map_location)
    return lambda tensor, location: device


def _restored(location):
    """The device of that name where there are any of its type: files of other machines are read to main memory."""
    there = location.startswith("cuda") and _core._cuda_count() or location.startswith("wgpu") and _core._wgpu_names()
    return _core.device(location) if there else None


def _answer(storage, location):
    """The device of what a function gave; None stands for no opinion."""
    return _restored(location) if storage is None else storage.device
