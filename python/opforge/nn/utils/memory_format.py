"""The order in memory of convolutions' weights."""

from __future__ import annotations


def convert_conv2d_weight_memory_format(module, memory_format):
    """Has the weights of all 2-d convolutions in the module lie in this memory format; returns the module. Values stay."""
    return _convert(module, memory_format, 4)


def convert_conv3d_weight_memory_format(module, memory_format):
    """[`convert_conv2d_weight_memory_format`] of 3-d convolutions."""
    return _convert(module, memory_format, 5)


def _convert(module, memory_format, dims):
    from ..._tensors.layouts import laid_in
    from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

    kinds = {4: (Conv2d, ConvTranspose2d), 5: (Conv3d, ConvTranspose3d)}[dims]
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = laid_in(layer.weight.detach(), memory_format)
    return module
