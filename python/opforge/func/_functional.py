"""Modules as functions of their tensors, as `functorch` had them before `functional_call`."""

from __future__ import annotations

import copy

from ._modules import functional_call


class FunctionalModuleWithBuffers:
    """A function of a module's parameters and buffers, in the order of their names, and its inputs."""

    def __init__(self, module, param_names, buffer_names):
        self.stateless_model = module
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def __call__(self, params, buffers, *args, **kwargs):
        tensors = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, tensors, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A function of a module's parameters, in the order of their names, and its inputs."""

    def __init__(self, module, param_names):
        super().__init__(module, param_names, ())

    def __call__(self, params, *args, **kwargs):
        return super().__call__(params, (), *args, **kwargs)


def _copied(model, disable_autograd_tracking):
    """A copy of the model, and its named parameters and buffers: parameters that train, or plain tensors."""
    copied = copy.deepcopy(model)
    parameters, buffers = dict(copied.named_parameters()), dict(copied.named_buffers())
    if disable_autograd_tracking:
        parameters = {name: parameter.detach() for name, parameter in parameters.items()}
    return copied, parameters, buffers


def make_functional(model, disable_autograd_tracking=False):
    """A function of the parameters of a model without buffers, and the parameters, which are copies.

    >>> function, parameters = make_functional(opforge.nn.Linear(2, 3))
    >>> function(parameters, opforge.ones(4, 2)).shape
    torch.Size([4, 3])
    """
    copied, parameters, buffers = _copied(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule(copied, parameters), tuple(parameters.values())


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """A function of a model's parameters and buffers, and both, which are copies."""
    copied, parameters, buffers = _copied(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(copied, parameters, buffers), tuple(parameters.values()), tuple(buffers.values())
