"""Tensors as text: `str` as numpy writes arrays, `repr` with the shape and dtype."""

from __future__ import annotations

import numpy as np

# Longer rows are abbreviated to three elements at each end: of tensors of one dimension, and of more.
_LONGEST, _LONGEST_OF_MANY = 1000, 6
_EDGE = 3


def shown(dtype, array) -> str:
    """A tensor as `str` writes it."""
    if dtype.name == "bfloat16":
        number = "{:f}".format
        return number(array[()]) if array.ndim == 0 else np.array2string(array, formatter={"float_kind": number})
    if array.ndim == 0 and array.dtype.kind == "f":
        return _number(array[()])
    return str(array[()]) if array.ndim == 0 else str(array)


def _number(number) -> str:
    """The fewest digits that tell a number from others of its dtype; with an exponent from 1e16 on and below 1e-4."""
    if number == 0 or 1e-4 <= abs(number) < 1e16:
        return np.format_float_positional(number, trim="0")
    return np.format_float_scientific(number, trim="-", exp_digits=2)


def described(shape, dtype, array) -> str:
    """A tensor as `repr` writes it."""
    gap = "\n" if len(shape) > 1 else " "
    return f"Tensor(shape={list(shape)}, dtype={dtype}, value={gap}{_elements(array, dtype)})"


def _elements(array, dtype) -> str:
    if array.size == 0:
        return ""
    if array.ndim == 0:
        return _scalar(array[()])
    longest = _LONGEST if array.ndim == 1 else _LONGEST_OF_MANY
    shortened = [size > longest for size in array.shape]
    edges = [[*range(_EDGE), *range(size - _EDGE, size)] if short else range(size) for size, short in zip(array.shape, shortened)]
    return _block(_texts(array[np.ix_(*edges)], dtype), shortened, 0)


def _block(texts, shortened, depth) -> str:
    """Nested brackets around texts; each dimension in which elements are left out has dots in the middle."""
    is_row = texts.ndim == 1
    items = list(texts) if is_row else [_block(part, shortened, depth + 1) for part in texts]
    indent = " " * (depth + 1)
    between, dots = (", ", " ... ") if is_row else (f",\n{indent}", f",\n{indent}...\n{indent}")
    if not shortened[depth]:
        return f"[{between.join(items)}]"
    return f"[{between.join(items[:_EDGE])}{dots}{between.join(items[_EDGE:])}]"


def _texts(array, dtype):
    """Each element's text, of the same width."""
    kind = array.dtype.kind
    if kind == "c":
        return np.array([_scalar(item) for item in array.flat], object).reshape(array.shape)
    if kind == "f" and dtype.name != "bfloat16":
        digits = 4 if array.dtype.itemsize == 2 else 8
        texts = [f"{item:.{digits}e}".rjust(digits + 7) for item in array.flat]
    else:
        texts = [_scalar(item) for item in array.flat]
        width = 5 if kind == "b" else max(map(len, texts))
        texts = [text.rjust(width) for text in texts]
    return np.array(texts, object).reshape(array.shape)


def _scalar(item) -> str:
    if np.iscomplexobj(item):
        return f"{item.real:g}{item.imag:+g}j"
    return f"{item:g}" if isinstance(item, np.floating) else str(item)
