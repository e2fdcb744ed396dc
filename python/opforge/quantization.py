"""`ao.quantization` under its older name."""

from __future__ import annotations

from .ao.quantization import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


def __getattr__(name):
    from .ao import quantization

    return getattr(quantization, name)
