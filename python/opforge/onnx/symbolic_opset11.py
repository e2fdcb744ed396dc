"""How PyTorch's operators would be exported to version 11 of ONNX's operators: no exporter is there to ask."""

from __future__ import annotations


def __getattr__(name):
    raise AttributeError(f"module '{__name__}' has no attribute '{name}': opforge writes no ONNX files")
