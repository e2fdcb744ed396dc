"""Lists of tensors by device and dtype, as optimizers of packages take them."""

from __future__ import annotations

__all__ = []


def _get_foreach_kernels_supported_devices():
    """The types of devices whose kernels take lists of tensors."""
    return ["cpu"]


def _get_fused_kernels_supported_devices():
    """The types of devices whose kernels make an optimizer's step in one."""
    return ["cpu"]


def _has_foreach_support(tensors, device):
    """Whether kernels take this list of tensors of a device."""
    return device.type == "cpu" and all(tensor is None or type(tensor).__module__.startswith("opforge") for tensor in tensors)


_device_has_foreach_support = lambda device: device.type == "cpu"


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of tensors, of as many each, in groups by device and dtype of those of the first: `{(device, dtype): (lists, places)}`.

    Places are those in the first list, or empty.
    """
    groups = {}
    for place, row in enumerate(zip(*tensorlistlist)):
        key = (row[0].device, row[0].dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for into, item in zip(lists, row):
            into.append(item)
        if with_indices:
            places.append(place)
    return groups
