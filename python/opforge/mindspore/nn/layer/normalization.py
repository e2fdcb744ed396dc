"""Normalization."""

from __future__ import annotations


from ... import ops
from ...common.initializer import initializer
from ...dtype import float32
from ...parameter import Parameter
from ..cell import Cell

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm"]


class LayerNorm(Cell):
    """Elements along the axes from `begin_norm_axis` on with mean 0 and variance 1, times `gamma` plus `beta`, which have the shape `normalized_shape`."""

    def __init__(
        self, normalized_shape, begin_norm_axis=-1, begin_params_axis=-1, gamma_init="ones", beta_init="zeros", epsilon=1e-7, dtype=float32
    ):
        super().__init__()
        self.normalized_shape, self.begin, self.epsilon = tuple(normalized_shape), begin_norm_axis, epsilon
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype), name="beta")

    def construct(self, input_x):
        return ops.LayerNorm(self.begin, self.begin, self.epsilon)(input_x, self.gamma, self.beta)[0]

    def extend_repr(self):
        return f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin}, gamma={self.gamma}, beta={self.beta}"


class _BatchNorm(Cell):
    """Channels, axis 1, with mean 0 and variance 1 over the others, times `gamma` plus `beta`. While it is trained, mean and variance are the batch's, and
    `moving_mean` and `moving_variance` keep `momentum` of themselves; else, or with `use_batch_statistics=False`, these are taken."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.9,
        affine=True,
        gamma_init="ones",
        beta_init="zeros",
        moving_mean_init="zeros",
        moving_var_init="ones",
        use_batch_statistics=None,
        data_format="NCHW",
        dtype=float32,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.use_batch_statistics = num_features, eps, momentum, use_batch_statistics
        starts = {"moving_mean": moving_mean_init, "moving_variance": moving_var_init, "gamma": gamma_init, "beta": beta_init}
        for name, start in starts.items():
            is_trained = affine and name in ("gamma", "beta")
            own_name = name.removeprefix("moving_")
            setattr(self, name, Parameter(initializer(start, [num_features], dtype), name=own_name, requires_grad=is_trained))

    def construct(self, x):
        of_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        moving = self.moving_mean, self.moving_variance
        return ops.batch_norm(x, *moving, self.gamma, self.beta, of_batch, 1 - self.momentum, self.eps)

    def extend_repr(self):
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__


class BatchNorm2d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__


class BatchNorm3d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__


class GroupNorm(Cell):
    """Groups of channels, axis 1, with mean 0 and variance 1, times `gamma` plus `beta`, one for each channel."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, gamma_init="ones", beta_init="zeros", dtype=float32):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels (accepted: a multiple of {num_groups}, the number of groups)")
        self.num_groups, self.eps = num_groups, eps
        self.gamma = Parameter(initializer(gamma_init, [num_channels], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_channels], dtype), name="beta", requires_grad=affine)

    def construct(self, x):
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)


