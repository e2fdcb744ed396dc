"""`assert_close`: whether results are what is expected, in values, dtypes, shapes, and containers."""

from __future__ import annotations

import collections.abc
import numbers

from .. import _core

# Relative and absolute tolerances, by the number of digits that a dtype has; those without any are compared exactly.
_TOLERANCES = {
    _core.float16: (1e-3, 1e-5), _core.bfloat16: (1.6e-2, 1e-5), _core.float32: (1.3e-6, 1e-5), _core.float64: (1e-7, 1e-7),
    _core.complex64: (1.3e-6, 1e-5), _core.complex128: (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True, check_layout=True,
    check_stride=False, msg=None,
):  # fmt: skip
    """An AssertionError unless `|actual - expected| <= atol + rtol |expected|` for all elements, and dtype, shape and device agree.

    Tolerances are the dtype's unless given, the larger ones of the two if they differ; both are given or none. Numbers and arrays are compared as
    tensors, sequences and mappings item by item; a tensor and an array are a TypeError. `msg` is a text, or a function of the text there would be.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    options = (rtol, atol, equal_nan, check_device, check_dtype, check_stride, allow_subclasses)
    found = _difference(actual, expected, "", options)
    if found is not None:
        raise AssertionError(msg(found) if callable(msg) else msg or found)


def _difference(actual, expected, place, options):
    """What is different, as text, or None."""
    if isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
        if set(actual) != set(expected):
            missing, additional = sorted(set(expected) - set(actual), key=str), sorted(set(actual) - set(expected), key=str)
            return f"The keys of the mappings do not match:\nMissing: {missing}\nAdditional: {additional}{place}"
        return _first(((actual[key], expected[key], key) for key in expected), place, options)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{place}"
        return _first(((a, e, i) for i, (a, e) in enumerate(zip(actual, expected))), place, options)
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual!r} is not {expected!r}{place}"
    if isinstance(actual, bool) and isinstance(expected, bool):
        return None if actual is expected else f"Booleans mismatch: {actual} is not {expected}{place}"
    if not _are_related(actual, expected, allow_subclasses=options[-1]):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.{place}")
    return _of_tensors(_tensor(actual, place), _tensor(expected, place), place, options)


def _are_related(actual, expected, *, allow_subclasses):
    """Whether both are numbers or of one class; one of a subclass of the other's will do if subclasses are allowed."""
    if isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        return True
    if not allow_subclasses:
        return type(actual) is type(expected)
    return isinstance(actual, type(expected)) or isinstance(expected, type(actual))


def _is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes))


def _first(pairs, place, options):
    return next(filter(None, (_difference(a, e, f"{place or chr(10) + 'The failure occurred for item '}[{key!r}]", options) for a, e, key in pairs)), None)


def _tensor(value, place):
    if isinstance(value, _core.Tensor):
        return value.detach()
    if isinstance(value, numbers.Number) or hasattr(value, "__array__"):
        # A number of Python's has all its digits.
        return _core.tensor(value, dtype=_core.float64) if isinstance(value, float) else _core.as_tensor(value)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(value)}{place}")


def _of_tensors(actual, expected, place, options):
    rtol, atol, equal_nan, check_device, check_dtype, check_stride, _ = options
    for what, wanted in ("shape", True), ("dtype", check_dtype), ("device", check_device):
        if wanted and getattr(actual, what) != getattr(expected, what):
            return f"The values for attribute '{what}' do not match: {_shown(actual, what)} != {_shown(expected, what)}.{place}"
    if check_stride and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.{place}"
    if rtol is None:
        rtol, atol = (max(pair) for pair in zip(*(_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected))))
    dtype = _compared(actual.dtype, expected.dtype)
    if dtype is _core.bool or not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.int64 if dtype is not _core.bool or rtol or atol else dtype
    actual, expected = actual.to(dtype), expected.to(dtype)
    wrong = ~_is_close(actual, expected, rtol, atol, equal_nan)
    count = int(wrong.sum())
    return None if count == 0 else _mismatch(actual, expected, wrong, count, (rtol, atol), place)


def _compared(*dtypes):
    """The dtype that tensors of these are compared in; float32 holds every number of 8 bits."""
    return _core.promote_types(*(_core.float32 if dtype.is_floating_point and dtype.itemsize == 1 else dtype for dtype in dtypes))


def _is_close(actual, expected, rtol, atol, equal_nan):
    if not actual.is_complex():
        return _core.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    parts = _core.view_as_real(actual), _core.view_as_real(expected)
    near = _core.eq(*parts).all(-1) | ((actual - expected).abs() <= atol + rtol * expected.abs())
    return near | parts[0].isnan().any(-1) & parts[1].isnan().any(-1) if equal_nan else near


def _shown(tensor, what):
    value = getattr(tensor, what)
    return value if what != "shape" else tuple(value)


def _mismatch(actual, expected, wrong, count, tolerances, place):
    """The text about elements that differ."""
    if wrong.dim() == 0:
        return f"Scalars are not close!\n\nExpected {expected.item()} but got {actual.item()}.{_greatest(actual, expected, wrong, tolerances)}{place}"
    head = f"Tensor-likes are not close!\n\nMismatched elements: {count} / {wrong.numel()} ({count / wrong.numel():.1%})"
    return head + _greatest(actual, expected, wrong, tolerances) + place


def _greatest(actual, expected, wrong, tolerances):
    if actual.dtype is _core.bool:
        return ""
    absolute = _core.where(wrong, (actual - expected).abs(), 0)
    relative = absolute / expected.abs()
    lines = []
    for name, values, allowed in ("absolute", absolute, tolerances[1]), ("relative", relative.nan_to_num(0, posinf=float("inf")), tolerances[0]):
        flat = int(values.flatten().argmax())
        index = f" at index {tuple(int(i) for i in _core.unravel_index(_core.tensor(flat), values.shape))}" if values.dim() else ""
        lines.append(f"\nGreatest {name} difference: {values.flatten()[flat].item()}{index} (up to {allowed} allowed)")
    return "".join(lines)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` that does not look at dtypes and devices."""
    if rtol is None and atol is None:
        dtypes = (_tensor(actual, "").dtype, _tensor(expected, "").dtype)
        rtol, atol = (max(pair) for pair in zip(*(_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes)))
    assert_close(
        _core.as_tensor(actual), _core.as_tensor(expected), rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip
