"""Operators from source texts."""

from __future__ import annotations

from .. import _core
from .operator import custom_op


def load_inline(source: str, function: str, *, language: str = "c++", cache=None, **options):
    """The operator `function` of a source text in "c", "c++" or "cuda"; the same text is compiled once. Options are those of `custom_op`.

    >>> twice = opforge.load_inline('''
    ...     #include "opforge/kernel.h"
    ...     extern "C" int Twice(int, void **params, int *, int64_t **shapes, const char **, void *, void *) {
    ...       for (int64_t i = 0; i < shapes[0][0]; ++i) ((float *)params[1])[i] = 2 * ((float *)params[0])[i];
    ...       return 0;
    ...     }''', "Twice", shapes=0)
    """
    path = _core.inline_source(function, language, source, cache)
    return custom_op(f"{path}:{function}", cache=cache, **options)
