"""Modules on several devices or processes. `DataParallel` calls its module where that is, as PyTorch's does without GPUs: batches are not shared among
devices. `DistributedDataParallel` trains a module by several processes."""

from __future__ import annotations

from ..modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """A module that calls `module`, on the device that this is on; the other arguments are kept, and not used."""

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
