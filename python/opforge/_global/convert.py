"""What tensors have of placements and distributions."""

from __future__ import annotations

import math

from .. import _core
from ..sbp import broadcast as _broadcast
from ..sbp import sbp as _Sbp
from ..sbp import split as _split
from .placement import placement as _Placement


def parts(tensor):
    """A global tensor's placement, and how it lies along each dimension of that; None for a local one."""
    text = _core._distribution(tensor)
    if text is None:
        return None
    start = text.rindex("[")
    return _Placement._read(text[:start].strip()), tuple(_Sbp._of(one) for one in text[start + 1 : -1].split(","))


def text(name, placement, sbp):
    """A distribution's text. One `sbp` stands for one along each dimension of the mesh."""
    if not isinstance(placement, _Placement):
        raise TypeError(f"{name}: placement must be an opforge.placement, not {type(placement).__name__}")
    given = list(sbp) if isinstance(sbp, (list, tuple)) else [sbp]
    if len(given) == 1:
        given = given * len(placement.shape)
    if len(given) != len(placement.shape):
        raise ValueError(f"{name}: {len(given)} sbp, expected {len(placement.shape)}, one for each dimension of {placement}")
    return f"{placement} [{', '.join(str(_Sbp._of(one)) for one in given)}]"


def _known(tensor, name):
    found = parts(tensor)
    if found is None:
        raise RuntimeError(f"Tensor.{name}: a local tensor has none; Tensor.to_global makes a global one")
    return found


def to_global(self, placement=None, sbp=None):
    """A global tensor. Of a local one that every rank calls this on: its elements are this rank's part, joined along split dimensions whatever their lengths;
    where they are broadcast, those of the first rank; with `partial_sum`, summands. Of a global one: the same elements, distributed otherwise; what is not
    given stays. Gradients come back to where the tensor was.

    Raises TypeError for a local tensor without `placement` and `sbp`; ShapeError for parts that do not go together, IndexError for dimensions that the
    tensor does not have; DistError for ranks that call something else.

    >>> import opforge as torch
    >>> torch.distributed.init_process_group(world_size=1, rank=0)
    >>> x = torch.ones(2, 3).to_global(torch.placement("cpu", [0]), torch.sbp.split(0))
    >>> x.shape, x.sbp
    (Size([2, 3]), (opforge.sbp.split(dim=0),))
    >>> torch.distributed.destroy_process_group()
    """
    old = parts(self)
    if old is None:
        if placement is None or sbp is None:
            raise TypeError("to_global: a local tensor needs placement and sbp")
        return _core._from_part(self, text("to_global", placement, sbp))
    return _core._redistribute(self, text("to_global", placement or old[0], old[1] if sbp is None else sbp))


def to_local(self):
    """This rank's part of a global tensor, a local tensor over the same memory where it can be; without elements on ranks that have none. Its gradient is that
    of the part. Raises DeviceError for a local tensor."""
    return _core._own_part(self)


def _placement(self):
    """The ranks that have parts of a global tensor. RuntimeError for a local one."""
    return _known(self, "placement")[0]


def _sbp(self):
    """How a global tensor lies along each dimension of its placement, as a tuple. RuntimeError for a local one."""
    return _known(self, "sbp")[1]


def shared(tensor):
    """A global tensor, split where it is broadcast: along its first dimension of which all those ranks get a part, else along its longest. Numbers stay as they are.
    Raises RuntimeError for a local tensor."""
    place, lies = _known(tensor, "to_global")
    ranks = math.prod(count for count, one in zip(place.shape, lies) if one == _broadcast)
    if not tensor.ndim or ranks == 1:
        return tensor
    long_enough = (dim for dim, length in enumerate(tensor.shape) if length >= ranks)
    dim = next(long_enough, max(range(tensor.ndim), key=lambda dim: tensor.shape[dim]))
    return tensor.to_global(sbp=[_split(dim) if one == _broadcast else one for one in lies])


def is_global(self):
    """Whether ranks have parts of the tensor."""
    return _core._is_global(self)


def is_local(self):
    """Whether the tensor is this process's alone."""
    return not _core._is_global(self)


placement, sbp = property(_placement), property(_sbp)
is_global, is_local = property(is_global), property(is_local)
