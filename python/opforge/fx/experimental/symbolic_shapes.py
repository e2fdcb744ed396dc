"""Questions about sizes that are not known while PyTorch's tracer is at work. Sizes are numbers here."""

from __future__ import annotations


def is_symbolic(val) -> bool:
    """Whether a size is not known: never."""
    return False


def guard_or_false(a) -> bool:
    """The condition as a bool: lengths are known when programs run."""
    return bool(a)


guard_or_true = guard_bool = guard_scalar = statically_known_true = definitely_true = guard_or_false
has_free_symbols = free_unbacked_symbols = is_symbolic
