"""Sobol sequences."""

import numpy
import pytest
from scipy.stats import qmc

import opforge as torch
from opforge.quasirandom import SobolEngine


@pytest.mark.parametrize("dimension", [1, 2, 7, 60, 1111])
def test_points_are_those_of_the_sequence(dimension):
    expected = qmc.Sobol(dimension, scramble=False, bits=30).random(32)
    points = SobolEngine(dimension).draw(32, dtype=torch.float64)
    numpy.testing.assert_array_equal(points.numpy(), expected)


def test_the_last_dimension_has_its_polynomial():
    engine = SobolEngine(SobolEngine.MAXDIM)
    expected = qmc.Sobol(SobolEngine.MAXDIM, scramble=False, bits=30).random(8)
    numpy.testing.assert_array_equal(engine.draw(8, dtype=torch.float64).numpy(), expected)


def test_draws_go_on_where_the_last_ended():
    whole = SobolEngine(3).draw(300)
    engine = SobolEngine(3)
    parts = [engine.draw(n) for n in (1, 2, 5, 64, 0, 28)]
    assert engine.fast_forward(50).num_generated == 150
    assert torch.equal(torch.cat(parts), whole[:100]) and torch.equal(engine.draw(150), whole[150:])
    assert torch.equal(engine.reset().draw(7), whole[:7])
    out = torch.empty(0)
    assert engine.draw(2, out=out) is out and torch.equal(out, whole[7:9])
    assert engine.draw(dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("scramble", [False, True])
def test_each_interval_has_one_point(scramble):
    points = SobolEngine(40, scramble=scramble, seed=3).draw_base2(8)
    assert tuple(points.shape) == (256, 40) and bool((points >= 0).all()) and bool((points < 1).all())
    for column in (points * 256).long().unbind(1):
        assert sorted(column.tolist()) == list(range(256))
    # And each box of 16 x 16 in the first two dimensions.
    boxes = (points[:, :2] * 16).long()
    assert len(set(map(tuple, boxes.tolist()))) == 256


def test_a_seed_decides_how_digits_are_mixed():
    first, again, other = (SobolEngine(5, scramble=True, seed=seed).draw(64) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    torch.manual_seed(4)
    free = SobolEngine(5, scramble=True).draw(64)
    torch.manual_seed(4)
    assert torch.equal(SobolEngine(5, scramble=True).draw(64), free)
    starts = torch.cat([SobolEngine(50, scramble=True, seed=seed).draw() for seed in range(50)])
    assert abs(starts.mean().item() - 0.5) < 0.02 and abs(starts.std().item() - 12**-0.5) < 0.02


def test_what_is_out_of_range():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match="21201"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    for call in (engine.draw, engine.fast_forward):
        with pytest.raises(ValueError, match="n=-1"):
            call(-1)
    engine.fast_forward(2**30 - 4)
    with pytest.raises(ValueError, match="at most"):
        engine.draw(2)
    assert repr(SobolEngine(2, scramble=True, seed=5)) == "SobolEngine(dimension=2, scramble=True, seed=5)"
