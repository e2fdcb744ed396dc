"""Modules that learn the width of their input from the first one."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy, was_lazy
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Linear


class LazyModuleMixin:
    """Before a module class: a module with uninitialized parameters or buffers, to which its method `initialize_parameters` gives shapes for the
    first input. It is called before the first `forward`; the module becomes an object of `cls_to_become` then, if there is one.

    >>> class Scale(opforge.nn.modules.lazy.LazyModuleMixin, opforge.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = opforge.nn.UninitializedParameter()
    ...
    ...     def initialize_parameters(self, x):
    ...         self.weight.materialize(x.shape[-1:])
    ...         opforge.nn.init.ones_(self.weight)
    ...
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> Scale()(opforge.ones(2, 3)).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(LazyModuleMixin._infer_parameters, with_kwargs=True)

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args, **kwargs):
        """Gives parameters and buffers shapes for these inputs: each class has its own."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _infer_parameters(self, args, kwargs=None):
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if is_lazy(tensor) and saved is not None and not was_lazy(saved):
                with no_grad():
                    tensor.materialize(saved.shape)


class _LazyLayer(LazyModuleMixin):
    """Before a module class whose first argument is the width: a module without it, whose parameters are uninitialized until an input, or a
    state to load, tells the width. It then becomes an object of that class. Parameters stay the same objects.

    >>> layer = opforge.nn.LazyLinear(3)
    >>> layer(opforge.ones(2, 5)).shape, type(layer).__name__
    (torch.Size([2, 3]), 'Linear')
    """

    cls_to_become: type

    def __init__(self, *args, **kwargs):
        self.__dict__["_lazy_arguments"] = args, kwargs
        super(LazyModuleMixin, self).__init__(0, *args, **kwargs)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = UninitializedParameter(device=parameter.device, dtype=parameter.dtype)
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.dim():
                self._buffers[name] = UninitializedBuffer(device=buffer.device, dtype=buffer.dtype)

    def reset_parameters(self):
        """Nothing, while there are no elements."""

    def has_uninitialized_params(self):
        return True

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the parameters their shapes and first values, for inputs like this one."""
        self._become(self._width_of(input))

    def forward(self, *args, **kwargs):
        self.initialize_parameters(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _become(self, width):
        args, kwargs = self.__dict__.pop("_lazy_arguments")
        whole = self.cls_to_become(width, *args, **kwargs)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                _take(parameter, whole._parameters[name])
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = whole._buffers[name].to(buffer.device, buffer.dtype)
        public = {name: value for name, value in whole.__dict__.items() if name[0] != "_" and name != "training"}
        self.__dict__.update(public)
        self.__class__ = self.cls_to_become

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        saved = (state_dict.get(prefix + name) for name in ("weight", "running_mean"))
        for tensor in saved:
            if tensor is not None and not was_lazy(tensor):
                self._become(self._width_in(tensor))
                return self._load_from_state_dict(state_dict, prefix, *rest)


def _take(parameter, other):
    """The uninitialized parameter becomes a plain one with another's elements."""
    parameter.materialize(other.shape)
    with no_grad():
        parameter.copy_(other)


class LazyLinear(_LazyLayer, Linear):
    """A [`Linear`] without `in_features`."""

    cls_to_become = Linear

    def _width_of(self, input):
        return input.shape[-1]

    def _width_in(self, weight):
        return weight.shape[1]


class _LazyConv(_LazyLayer):
    def _width_of(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise RuntimeError(f"expected {self._dims + 1}D or {self._dims + 2}D input, got {input.dim()}D")
        return input.shape[-self._dims - 1]

    def _width_in(self, weight):
        return weight.shape[0] if self.transposed else weight.shape[1] * self.groups


class _LazyNorm(_LazyLayer):
    def _width_of(self, input):
        self._check_input_dim(input)
        return input.shape[1]

    def _width_in(self, weight):
        return weight.shape[0]


class _LazyInstanceNorm(_LazyNorm):
    # Unlike the modules that they become, these have a scale, a shift and running statistics unless told otherwise.
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _width_of(self, input):
        self._check_input_dim(input)
        return input.shape[0 if input.dim() == self._ranks[0] else 1]


class LazyConv1d(_LazyConv, Conv1d):
    """A [`Conv1d`] without `in_channels`."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A [`Conv2d`] without `in_channels`."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A [`Conv3d`] without `in_channels`."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A [`ConvTranspose1d`] without `in_channels`."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A [`ConvTranspose2d`] without `in_channels`."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A [`ConvTranspose3d`] without `in_channels`."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A [`BatchNorm1d`] without `num_features`."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A [`BatchNorm2d`] without `num_features`."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A [`BatchNorm3d`] without `num_features`."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """A [`InstanceNorm1d`] without `num_features`."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """A [`InstanceNorm2d`] without `num_features`."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """A [`InstanceNorm3d`] without `num_features`."""

    cls_to_become = InstanceNorm3d
