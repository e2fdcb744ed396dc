"""Quantization, which opforge does not have: models that are prepared for it import these names. Their stubs pass values on."""

from __future__ import annotations

from ... import nn
from ..._absent import absent_names


class QuantStub(nn.Module):
    """The place where a model's input would be quantized: passes it on."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x):
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """The place where a model's output would be dequantized: passes it on."""


class QuantWrapper(nn.Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module):
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, X):
        """The module's output."""
        return self.dequant(self.module(self.quant(X)))


_REASON = "opforge has no quantized dtypes and kernels"
_FUNCTIONS = """
convert default_eval_fn fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping prepare prepare_qat
propagate_qconfig_ quantize quantize_dynamic quantize_qat swap_module
"""
_CLASSES = "FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver ObserverBase QConfig QConfigMapping"
globals().update(absent_names(__name__, _REASON, functions=_FUNCTIONS, classes=_CLASSES))
