"""Whether two sides of a case agree, and the document that tells."""

from __future__ import annotations

import dataclasses

import numpy

# How far numbers may be apart, as a part of the largest of their array, or of FLOOR times the largest of all arrays of the case if that is more: what is
# zero but for rounding, as gradients of biases before a normalization are, has no digits to compare.
TOLERANCE = 2e-4
FLOOR = 1e-3

_HEAD = """# PyTorch's packages on opforge

Packages as they come from PyPI, unmodified, with `import torch` meaning opforge (`opforge run`, or `import opforge.as_torch` at the top of a program).
`make compare-packages` installs them and PyTorch into an environment of their own, runs the cases of `tests/packages/cases` on both, with the same weights
and inputs, and writes this table. A case compares outputs and, for models, the gradients of all parameters: each array within {tolerance} of its largest
element (or of a thousandth of the case's largest, if that is more); whole numbers, dtypes and shapes must be equal. Numbers are float32 unless the
package's cases say otherwise.

| package | version | cases | the same | what is not |
|---|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a comparison found: the largest relative difference, or a text where there is none to tell."""

    difference: float | None = None
    problem: str = ""
    is_wrong: bool = False

    @property
    def is_same(self) -> bool:
        """Whether both sides agree."""
        return not self.problem

    def __str__(self):
        return self.problem or f"the same (within {self.difference:.1e})"


def verdict(theirs, ours) -> Verdict:
    """Compares arrays by name. A text in the place of arrays is an error."""
    if not isinstance(theirs, dict):
        return Verdict(problem=f"PyTorch cannot either: {theirs}")
    if not isinstance(ours, dict):
        return Verdict(problem=str(ours), is_wrong=True)
    if set(theirs) != set(ours):
        return Verdict(problem=f"other results: {sorted(set(theirs) ^ set(ours))[:3]}", is_wrong=True)
    floor = FLOOR * max((_largest(array) for array in theirs.values() if array.dtype.kind in "fc"), default=0)
    worst, place = max(((_apart(theirs[name], ours[name], floor), name) for name in theirs), default=(0.0, ""))
    if worst > TOLERANCE:
        return Verdict(worst, f"differs by {worst:.1e} in {place}", is_wrong=True)
    return Verdict(worst)


def _apart(a, b, floor) -> float:
    """The largest difference as a part of the largest number; infinite for other shapes, dtypes, whole numbers, infinities or NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.dtype.kind not in "fc":
        return 0.0 if numpy.array_equal(a, b) else float("inf")
    a_finite, b_finite = numpy.isfinite(a), numpy.isfinite(b)
    if not numpy.array_equal(a_finite, b_finite) or not numpy.array_equal(a[~a_finite], b[~b_finite], equal_nan=True):
        return float("inf")
    return _largest(numpy.where(a_finite, a, 0) - numpy.where(b_finite, b, 0)) / max(_largest(a), floor, 1e-12)


def _largest(array) -> float:
    """The largest magnitude of the numbers that are finite."""
    return float(numpy.abs(numpy.where(numpy.isfinite(array), array, 0)).max()) if array.size else 0.0


def document(found) -> str:
    """The table of packages."""
    lines = []
    for package, result in found.items():
        cases = result["cases"]
        same = sum(verdict.is_same for verdict in cases.values())
        others = "; ".join(f"{name}: {str(verdict)[:160]}" for name, verdict in cases.items() if not verdict.is_same)
        others = others.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {package} | {result['version']} | {'; '.join(cases)} | {same} of {len(cases)} | {others} |")
    return _HEAD.format(tolerance=TOLERANCE) + "\n".join(lines) + "\n"
