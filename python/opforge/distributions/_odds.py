"""Parameters that are probabilities or logits: whichever is given, the other is computed when it is first asked for."""

from __future__ import annotations

from .. import _core as _C
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Odds:
    """Probabilities as `probs`, or as `logits`: of successes their log-odds, of categories (not `_is_binary`) their logarithms."""

    # The name of the one that was given.
    _constants = ("_given",)
    _is_binary = True

    def _take_odds(self, probs, logits, *others):
        """Keeps the one of both that is not None, broadcast with the other parameters; gives those. ValueError for both or neither."""
        self._given = given_odds(type(self).__name__, probs, logits)
        value, *others = broadcast_all(logits if probs is None else probs, *others)
        setattr(self, self._given, value if value.is_floating_point() else value.to(_C.get_default_dtype()))
        return others

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self):
        return getattr(self, self._given)

    @property
    def param_shape(self):
        """The shape of the given parameter."""
        return self._param.shape


def given_odds(owner, probs, logits):
    """The name of the one that is not None."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{owner}: {'neither' if probs is None else 'both'} of probs and logits given, expected one of them")
    return "logits" if probs is None else "probs"
