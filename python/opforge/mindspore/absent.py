"""Names of MindSpore's that are there to be imported: whoever uses one gets an error that says what is missing."""

from __future__ import annotations

from .._absent import absent_class, absent_function

_SPARSE = "sparse tensors of MindSpore's are not there; see opforge.sparse"
COOTensor = absent_class("mindspore.COOTensor", _SPARSE)
CSRTensor = absent_class("mindspore.CSRTensor", _SPARSE)
Model = absent_class("mindspore.Model", "loops over data sets are not there; see nn.TrainOneStepCell, or value_and_grad and an optimizer")
export = absent_function("mindspore.export", "files of MindSpore's graphs are not written; see save_checkpoint, opforge.export and opforge.onnx")
load = absent_function("mindspore.load", "files of MindSpore's graphs are not read; see load_checkpoint")


def absent_module(name, reason):
    """A module's `__getattr__`: each name is a function that says what is missing."""

    def __getattr__(attribute):
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return absent_function(f"{name}.{attribute}", reason)

    return __getattr__
