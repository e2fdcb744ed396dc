"""Looking for defects in custom operators."""

from __future__ import annotations

import dataclasses

from .. import _core
from .operator import CustomOp, custom_op


@dataclasses.dataclass(frozen=True)
class Finding:
    """A defect in a case that shows it: the probe that found it, the case's number and inputs, and what happened."""

    probe: str
    case: int
    inputs: str
    message: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What a check found. Printed, it tells everything."""

    findings: list[Finding]
    # Cases that the operator refused, with its words.
    refused: list[tuple[int, str, str]]
    # Probes that were left out, and why.
    skipped: list[tuple[str, str]]
    text: str

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self):
        return self.text


def check(op, /, *, reference=None, declare=None, **options) -> Report:
    """Looks for defects in a custom operator, or in the kernel at "path:Name"; see `opforge check --help` for what it looks for.

    The operator runs in processes of its own, on shapes and dtypes of all kinds. Options:

    - `shapes`: lists of shapes, one for each input or one for all, such as [[(4, 5), (5, 3)], [(2, 2)]].
    - `dtypes`: lists of dtypes in the same way; else those that the operator accepts, or float32.
    - `ranks`: of the shapes that are tried where none are given.
    - `reference`: a function of numpy arrays, and attributes by name, that computes what the operator should, with `tolerance` as a part of
      the largest element.
    - `range`: of the inputs' elements, (-2, 2) unless given; `seed`: another one gives other elements; `case`: the number of the only one to try.
    - `timeout`: the limit of a call in seconds. `sanitize`: whether to compile it once more with the compiler's own checks.
      `huge`: whether to try more than 2^31 elements, if there is memory for them.
    - `declare`: options of `custom_op` for a kernel that is given as "path:Name".

    >>> report = opforge.check("kernels/add.cc:Add", declare={"shapes": 0}, reference=numpy.add)
    >>> assert report.ok, report
    """
    if not isinstance(op, CustomOp):
        op = custom_op(op, isolate=True, **(declare or {}))
    if reference is not None:
        options["reference"] = _of_arrays(reference)
    found = _core.check_operator(op, **options)
    findings = [Finding(*finding) for finding in found["findings"]]
    return Report(findings, found["refused"], found["skipped"], found["text"])


def _of_arrays(reference):
    """A function of arrays as one of tensors and a dict of attributes."""

    def run(tensors, attributes):
        import numpy

        # numpy has no bfloat16, and no float8.
        small = (_core.bfloat16, _core.float8_e4m3fn, _core.float8_e5m2)
        arrays = [(tensor.float() if tensor.dtype in small else tensor).numpy() for tensor in tensors]
        results = reference(*arrays, **attributes)
        results = results if isinstance(results, (tuple, list)) else (results,)
        return tuple(_core.tensor(numpy.asarray(result)) for result in results)

    return run
