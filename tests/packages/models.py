"""What cases are made of: inputs and weights that are the same on both sides, and the arrays that a model gives. Imports torch, whichever that is."""

from __future__ import annotations

import zlib

import numpy
import torch

BATCH = 2


def _random(name):
    """A generator of numbers that depends on a name alone."""
    return numpy.random.RandomState(zlib.crc32(name.encode()))


def normal(*shape, name="input"):
    """A float32 tensor of normal numbers."""
    return torch.from_numpy(_random(name).standard_normal(shape).astype("float32"))


def uniform(*shape, name="input"):
    """A float32 tensor of numbers in [0, 1)."""
    return torch.from_numpy(_random(name).random_sample(shape).astype("float32"))


def integers(high, *shape, name="input"):
    """An int64 tensor of numbers in [0, high)."""
    return torch.from_numpy(_random(name).randint(0, high, shape).astype("int64"))


def filled(module):
    """The module with parameters that depend on their names and shapes alone."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            values = numpy.asarray(_random(name).standard_normal(tuple(parameter.shape)))
            if parameter.dim() < 2:
                values = 0.1 * values + name.endswith("weight")
            else:
                values /= numpy.sqrt(max(numpy.prod(parameter.shape[1:]), 1))
            parameter.copy_(torch.from_numpy(numpy.asarray(values, dtype="float32")))
    return module


def arrays(value, place="output"):
    """The tensors of a value as arrays, by their places."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return {place: (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).numpy()}
    if isinstance(value, (numpy.ndarray, float, int)):
        return {place: numpy.asarray(value)}
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return {name: array for key, item in items for name, array in arrays(item, f"{place}.{key}").items()}


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in _tensors(item)]


def passes(module, *inputs, train=False, pick=None, **keywords):
    """The outputs of a module with given weights, and the gradients of all its parameters for a weighted sum of them."""
    module = filled(module).train(train)
    output = module(*inputs, **keywords)
    output = output if pick is None else pick(output)
    found = arrays(output)
    loss = 0
    for tensor in _tensors(output):
        if tensor.requires_grad:
            loss = loss + (tensor.float() * uniform(*tensor.shape, name="weights of the loss")).mean()
    if isinstance(loss, torch.Tensor):
        loss.backward()
    gradients = {name: parameter.grad for name, parameter in module.named_parameters() if parameter.grad is not None}
    return found | arrays(gradients, "gradient")
