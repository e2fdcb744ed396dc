"""ONNX files, which opforge does not write: names for packages that register how their operators would be exported. `opforge.export` writes programs."""

from __future__ import annotations

import enum

from .._absent import absent_names
from . import symbolic_helper, symbolic_opset9, symbolic_opset11, symbolic_opset12

__all__ = ["OnnxExporterError", "is_in_onnx_export", "register_custom_op_symbolic", "symbolic_helper", "unregister_custom_op_symbolic"]

_REASON = "opforge writes no ONNX files; opforge.export.save writes programs"
globals().update(absent_names(__name__, _REASON, functions="dynamo_export export", classes="ExportOptions ONNXProgram"))


class OnnxExporterError(RuntimeError):
    """What a failed export would raise."""


class TrainingMode(enum.Enum):
    """In which mode a module would be exported."""

    EVAL, PRESERVE, TRAINING = range(3)


class OperatorExportTypes(enum.Enum):
    """As what operators would be exported."""

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)


def is_in_onnx_export() -> bool:
    """Whether an export is running: never."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Nothing happens: no exporter asks how an operator is written."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Nothing happens."""
