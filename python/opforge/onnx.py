"""ONNX files, which opforge does not write: names for programs that import them. `opforge.export` writes programs."""

from __future__ import annotations

from ._absent import absent_names

_REASON = "opforge writes no ONNX files; opforge.export.save writes programs"
globals().update(
    absent_names(
        __name__, _REASON, functions="dynamo_export export register_custom_op_symbolic unregister_custom_op_symbolic", classes="ExportOptions ONNXProgram"
    )
)


class OnnxExporterError(RuntimeError):
    """What a failed export would raise."""


def is_in_onnx_export() -> bool:
    """Whether an export is running: never."""
    return False
