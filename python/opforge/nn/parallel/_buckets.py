"""Gradients in buckets: vectors of several parameters' gradients, which travel in one call."""

from __future__ import annotations

from ... import _core as _C

# What the first bucket holds, which is full first: its call begins early.
FIRST_BUCKET_BYTES = 1 << 20
DEFAULT_BUCKET_MB = 25


class Bucket:
    """Parameters of one dtype whose gradients travel together, by their positions among all."""

    def __init__(self, index, positions, parameters, is_last):
        self.index, self.positions, self.parameters, self.is_last = index, positions, parameters, is_last
        self.lengths = [parameter.numel() for parameter in parameters]

    def gather(self, takes):
        """The gradients as a vector; zeros of parameters that have none or that `takes` refuses."""
        parts = []
        for position, parameter in zip(self.positions, self.parameters):
            grad = parameter.grad if takes(position) else None
            parts.append(_C.zeros(parameter.numel(), dtype=parameter.dtype, device=parameter.device) if grad is None else grad.detach().reshape(-1))
        return _C.cat(parts)

    def split(self, flat):
        """Views of a vector with the parameters' shapes."""
        return [part.view(parameter.shape) for part, parameter in zip(flat.split(self.lengths), self.parameters)]


def buckets_of(parameters, first_bytes, bytes):
    """Buckets of up to `bytes` (the first of `first_bytes`) or one parameter more, from the last parameter to the first, in the order in which they are full."""
    open_buckets, closed, seen = {}, [], set()
    for position, parameter in reversed(list(enumerate(parameters))):
        entry = open_buckets.setdefault(parameter.dtype, [])
        entry.append(position)
        if sum(parameters[i].nbytes for i in entry) >= (bytes if parameter.dtype in seen else first_bytes):
            seen.add(parameter.dtype)
            closed.append(open_buckets.pop(parameter.dtype))
    closed += sorted(open_buckets.values(), key=lambda entry: -entry[-1])
    return [Bucket(i, entry, [parameters[k] for k in entry], i == len(closed) - 1) for i, entry in enumerate(closed)]
