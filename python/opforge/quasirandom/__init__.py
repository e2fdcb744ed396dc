"""Points that fill the unit cube evenly: Sobol sequences."""

from __future__ import annotations

from .. import _core
from ._directions import directions

__all__ = ["SobolEngine"]


class SobolEngine:
    """The Sobol sequence in a number of dimensions: `draw(n)` gives its next `n` points `(n, dimension)`, each in `[0, 1)`.

    The first `2**m` points have one in each of `2**m` equal intervals, in every dimension, and are spread evenly over boxes too. Direction numbers are those
    of Joe and Kuo (2008), points come in the order of the Gray code (Antonov and Saleev, 1979), and both are PyTorch's. With `scramble` digits are mixed by
    random matrices and shifts (Matoušek's affine form of Owen's scrambling), which keeps these properties and makes each point uniformly distributed; the same
    `seed` gives the same points, not PyTorch's.

    >>> SobolEngine(2).draw(4).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = directions(dimension, self.MAXBIT)
        self.shift = _core.zeros(dimension, dtype=_core.int64)
        self.num_generated = 0
        if scramble:
            self._scramble()

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points, in the default dtype unless `dtype` says another."""
        self._check("draw", n)
        points = self._numbers(self.num_generated, n).to(_core.float64) / 2**self.MAXBIT
        points = points.to(_core.get_default_dtype() if dtype is None else dtype)
        self.num_generated += n
        return points if out is None else out.resize_as_(points).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next `2**m` points; ValueError unless as many as a power of 2 have been drawn then."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Back to the first point."""
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out the next `n` points."""
        self._check("fast_forward", n)
        self.num_generated += n
        return self

    def _check(self, name, n):
        if n < 0 or self.num_generated + n > 2**self.MAXBIT:
            raise ValueError(f"SobolEngine.{name}: n={n} after {self.num_generated} points, expected none below 0 and at most 2**{self.MAXBIT} in all")

    def _numbers(self, start, n):
        """The points from `start` as numbers below `2**MAXBIT`, `(n, dimension)`.

        Point `k` is the exclusive or of the directions at the bits of the Gray code `k ⊕ k/2`, and so of `w[j] = v[j] ⊕ v[j - 1]` at the bits `j` of `k`.
        """
        state = self.sobolstate.t()
        steps = _core.cat([state[:1], state[1:] ^ state[:-1]])
        low = max(n - 1, 0).bit_length()
        table = _core.zeros((1, self.dimension), dtype=_core.int64)
        for step in steps[:low].unbind():
            table = _core.cat([table, table ^ step])
        blocks = []
        # At most two blocks of 2**low points.
        for block in range(start >> low, (start + max(n, 1) - 1 >> low) + 1):
            shift = self.shift
            for j, step in enumerate(steps[low:].unbind()):
                shift = shift ^ step if block >> j & 1 else shift
            blocks.append(table ^ shift)
        return _core.cat(blocks).narrow(0, start & (1 << low) - 1, n)

    def _scramble(self):
        generator = None if self.seed is None else _core.Generator().manual_seed(self.seed)
        places = _core.arange(self.MAXBIT - 1, -1, -1)
        self.shift = (_core.randint(2, (self.dimension, self.MAXBIT), generator=generator) << places).sum(1)
        matrices = _core.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).tril(-1) + _core.eye(self.MAXBIT, dtype=_core.int64)
        # Digits from the highest: (dimension, digit, direction).
        digits = self.sobolstate.unsqueeze(1) >> places.unsqueeze(1) & 1
        mixed = (matrices.to(_core.float32) @ digits.to(_core.float32)).to(_core.int64) & 1
        self.sobolstate = (mixed << places.unsqueeze(1)).sum(1)

    def __repr__(self):
        shown = [f"dimension={self.dimension}"] + ["scramble=True"] * bool(self.scramble) + [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(shown)})"
