"""Spectral normalization by hooks, as it was before parametrizations; and the power method that both have."""

from __future__ import annotations

from ... import _core as _C
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter


def default_dim(module):
    """The dimension of a module's weight that counts its outputs."""
    from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d  # which stand on this package

    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


def matrix_of(weight, dim):
    """A weight as a matrix, whose rows are the indices along `dim`."""
    return weight.movedim(dim, 0).flatten(1)


def power_iteration(matrix, left, right, steps, eps):
    """Estimates of the singular vectors of the greatest singular value, after this many steps of the power method."""
    for _ in range(steps):
        left = _C.nn.normalize(matrix.mv(right), dim=0, eps=eps)
        right = _C.nn.normalize(matrix.mH.mv(left), dim=0, eps=eps)
    return left, right


class SpectralNorm:
    """The hook that computes `module.name` from `name_orig` before each forward; `name_u` and `name_v` are the singular vectors so far."""

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim = name, dim
        self.n_power_iterations, self.eps = n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight):
        """The weight as a matrix, whose rows are the indices along `dim`."""
        return matrix_of(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight divided by its greatest singular value, estimated anew if asked for."""
        weight, left, right = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                # From the left vector on, where parametrizations begin at the right one: of the adjoint matrix, whose vectors change places.
                new_right, new_left = power_iteration(matrix.mH, right, left, self.n_power_iterations, self.eps)
                left.copy_(new_left)
                right.copy_(new_right)
        # Copies: another forward changes the buffers before this one's backward.
        return weight / left.clone().dot(matrix.mv(right.clone()))

    def remove(self, module):
        """Makes the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Registers the hook; a module has one for each name."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            shape = hook.reshape_weight_to_matrix(weight).shape
            left, right = (_C.nn.normalize(weight.new_empty(n).normal_(), dim=0, eps=eps) for n in shape)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", left)
        module.register_buffer(f"{name}_v", right)
        module.register_forward_pre_hook(hook)
        return hook


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Has `module.name` be the parameter `name_orig` divided by its greatest singular value, before each forward: as
    [`parametrizations.spectral_norm`](parametrizations.py), which is newer, does. Returns the module."""
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undoes [`spectral_norm`]; returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
