"""Which function computes the divergence of two classes of distributions."""

from __future__ import annotations

import functools
import warnings

_KL_REGISTRY = {}


def register_kl(type_p, type_q):
    """Decorates a function of `p` and `q` that gives their divergence, for these classes and those derived from them. Classes may be of any kind.

    >>> @register_kl(Mine, Normal)
    ... def _(p, q): ...
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl: {name} is {kind!r}, expected a class")

    def decorate(function):
        _KL_REGISTRY[type_p, type_q] = function
        _function_for.cache_clear()
        return function

    return decorate


@functools.cache
def _function_for(type_p, type_q):
    """The function for the classes nearest to both; None if there is none. If what is nearest to one is not nearest to the other, it is that of
    `p`, with a warning."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    distances = {pair: (_distance(type_p, pair[0]), _distance(type_q, pair[1])) for pair in matches}
    by_p = min(matches, key=distances.get)
    by_q = min(matches, key=lambda pair: distances[pair][::-1])
    if by_p != by_q and _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (by_p, by_q)]
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}): {names[0]} is taken, not {names[1]}; register the pair itself",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def _distance(kind, base):
    """How far a class is from a base; virtual ones are the farthest."""
    mro = kind.__mro__
    return mro.index(base) if base in mro else len(mro)


def kl_divergence(p, q):
    """`KL(p ‖ q) = ∫ p(x) log(p(x) / q(x)) dx`, a tensor of the batch's shape.

    Raises NotImplementedError for pairs of classes that nothing is registered for.
    """
    function = _function_for(type(p), type(q))
    if function is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return function(p, q)
