"""Training with different numbers of batches: ranks that have no more take part in the calls of the others."""

from __future__ import annotations

from contextlib import contextmanager

from ... import _core as _C

# What a rank says at the beginning of an iteration.
_ACTIVE, _SHARES, _SYNCS = 1, 2, 4


class _Joining:
    """A block within which ranks may come to their ends at different times."""

    def __init__(self, model, divides_by_all, throws):
        self.model, self.divides_by_all, self.throws = model, divides_by_all, throws
        self.last = 0

    def _say(self, number):
        """What each rank says, which all exchange at the beginning of each iteration of any."""
        group = self.model.process_group
        counts = [1] * group.size()
        said = group._core.all_gather(_C.tensor([number], dtype=_C.int32), counts).wait().tolist()
        active = [rank for rank, other in enumerate(said) if other & _ACTIVE]
        if self.throws and len(active) < len(said):
            raise RuntimeError(f"join: throw_on_early_termination: ranks {sorted(set(range(len(said))) - set(active))} have no more inputs")
        if active:
            self.last = active[0]
            reducer = self.model.reducer
            reducer.active = len(active)
            reducer.divisor = group.size() if self.divides_by_all else len(active)
        return said, active

    def announce(self, shares, syncs):
        """Begins an iteration; the rank whose buffers count."""
        _, active = self._say(_ACTIVE | _SHARES * bool(shares) | _SYNCS * bool(syncs))
        return active[0]

    def end(self):
        """Takes part in the iterations of others until all have ended; then all take the state of one of the last."""
        while True:
            said, active = self._say(0)
            if not active:
                break
            number = said[active[0]]
            if number & _SHARES:
                self._share("named_buffers", root=active[0])
            if number & _SYNCS:
                self.model.reducer.shadow()
        self._share("named_parameters", "named_buffers", root=self.last)

    def _share(self, *members, root):
        self.model._share([tensor for names in members for tensor in self.model._named(names).values()], root)


@contextmanager
def joined(model, divides_by_all, enable, throws):
    """The block of `DistributedDataParallel.join`."""
    if not enable or model.process_group.size() == 1:
        yield
        return
    if model._joining is not None:
        raise RuntimeError("join: this model is within such a block already")
    if model.reducer.hook is not None and not divides_by_all:
        raise NotImplementedError("join: divide_by_initial_world_size=False: communication hooks divide by the number of all ranks")
    model._joining, size = _Joining(model, divides_by_all, throws), model.process_group.size()
    try:
        yield
        model._joining.end()
    finally:
        model._joining = None
        model.reducer.active = model.reducer.divisor = size
