"""Timers of statements."""

import pytest

import opforge as torch


def test_timers():
    result = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).blocked_autorange(min_run_time=0.01)
    assert 0 < result.median < 1 and result.number_per_run >= 1 and "Median" in repr(result)
    with pytest.raises(NotImplementedError, match="Python"):
        torch.utils.benchmark.Timer("x", language="c++")
