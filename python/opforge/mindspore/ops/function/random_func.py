"""Functions that draw numbers. A `seed` begins a series of its own for that call."""

from __future__ import annotations

from .... import _core, default_generator
from ...adapters import adapted
from ...dtype import to_core
from .array_func import _number, _sizes

_ADAPTED = {
    "bernoulli": lambda input, p=0.5, seed=None: _drawn(seed, lambda: _core.bernoulli(_core.zeros_like(input) + p)),
    "multinomial": lambda input, num_samples, replacement=True, seed=None: _drawn(seed, lambda: _core.multinomial(input, num_samples, replacement)),
    "normal": lambda shape, mean, stddev, seed=None: _drawn(seed, lambda: _core.randn(_sizes(shape)) * stddev + mean),
    "rand": lambda *size, dtype=None, seed=None: _drawn(seed, lambda: _core.rand(_shape(size), dtype=dtype)),
    "rand_like": lambda input, seed=None, *, dtype=None: _drawn(seed, lambda: _core.rand_like(input, dtype=dtype)),
    "randint": lambda low, high, size, seed=None, *, dtype=None: _drawn(seed, lambda: _core.randint(low, high, _sizes(size), dtype=dtype or _core.int64)),
    "randint_like": lambda input, low, high, seed=None, *, dtype=None: _drawn(seed, lambda: _core.randint_like(input, low, high, dtype=dtype)),
    "randn": lambda *size, dtype=None, seed=None: _drawn(seed, lambda: _core.randn(_shape(size), dtype=dtype)),
    "randn_like": lambda input, seed=None, *, dtype=None: _drawn(seed, lambda: _core.randn_like(input, dtype=dtype)),
    "randperm": lambda n, seed=0, offset=0, dtype=_core.int64: _drawn(seed or None, lambda: _core.randperm(n, dtype=to_core(dtype))),
    "standard_normal": lambda shape, seed=None: _drawn(seed, lambda: _core.randn(_sizes(shape))),
    "uniform": lambda shape, minval, maxval, seed=None, dtype=_core.float32: _drawn(seed, lambda: _uniform(_sizes(shape), minval, maxval, dtype)),
}


def _shape(size) -> tuple:
    return _sizes(size[0]) if len(size) == 1 else size


def _uniform(shape, low, high, dtype):
    if dtype.is_floating_point:
        return _core.rand(shape, dtype=dtype) * (high - low) + low
    return _core.randint(int(_number(low)), int(_number(high)), shape, dtype=dtype)


def _drawn(seed, draw):
    if seed is None:
        return draw()
    state = default_generator.get_state()
    default_generator.manual_seed(seed)
    try:
        return draw()
    finally:
        default_generator.set_state(state)


FUNCTIONS = adapted(_ADAPTED, _core)
