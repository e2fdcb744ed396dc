"""Modules on several devices or processes. There is the CPU alone: `DataParallel` runs its module, as PyTorch's does there;
`DistributedDataParallel` trains one by several processes."""

from __future__ import annotations

from ..modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that shares its batches among devices: without any it calls `module`."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim, self.device_ids, self.output_device = module, dim, [], output_device

    def forward(self, *inputs, **kwargs):
        """The module's output."""
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The module's output for a tuple of inputs."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def __getattr__(name):
    """Imports `DistributedDataParallel`, and process groups with it, when it is first used."""
    if name != "DistributedDataParallel":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from .distributed import DistributedDataParallel

    globals()[name] = DistributedDataParallel
    return DistributedDataParallel
