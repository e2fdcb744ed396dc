"""Data types, and the kinds that they are of."""

from __future__ import annotations

from opforge._core import (
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "bool", "complex64", "complex128", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
REAL = (float32, float64)
COMPLEX = (complex64, complex128)

# The dtypes of the standard, by kind.
KINDS = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}

# The dtypes that opforge has besides, by the kinds that they belong to.
FURTHER = {"real floating": (bfloat16, float16), "numeric": (bfloat16, float16)}


def dtypes_of(kind):
    """The dtypes of the standard that are of a kind."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}, expected one of {', '.join(map(repr, KINDS))}")
    return KINDS[kind]
