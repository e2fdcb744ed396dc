"""Futures of calls under way. MPI tells nobody when a call is over: what follows runs when somebody waits or asks."""

from __future__ import annotations

from ..futures import Future


class Deferred(Future):
    """A future whose result `bring` gives, waiting for it if need be; `is_ready` says whether it would wait."""

    def __init__(self, is_ready, bring):
        super().__init__()
        self._is_ready, self._bring = is_ready, bring

    def done(self) -> bool:
        """Whether the result or an exception is there."""
        if not self._done.is_set() and self._bring is not None and self._is_ready():
            self._settle()
        return self._done.is_set()

    def wait(self):
        """The result; raises the exception that came in its place."""
        self._settle()
        return super().wait()

    def then(self, callback) -> Deferred:
        """The future of what `callback(self)` gives; it runs when somebody waits for that future, or asks whether it is done."""
        return Deferred(self.done, lambda: callback(self._settled()))

    def _settled(self):
        self._settle()
        return self

    def _settle(self):
        bring, self._bring = self._bring, None
        if bring is None:
            return
        try:
            result = bring()
        except Exception as error:
            self.set_exception(error)
        except BaseException:
            # Ctrl-C: whoever waits again waits for the same call.
            self._bring = bring
            raise
        else:
            self.set_result(result)
