"""Parameters as one vector, and back."""

from __future__ import annotations

from ... import _core as _C


def parameters_to_vector(parameters):
    """All elements of the parameters in one vector."""
    return _C.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters stand for consecutive pieces of a vector."""
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].reshape(parameter.shape).detach()
        start = end
