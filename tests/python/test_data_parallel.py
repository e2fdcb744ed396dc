"""Training by several processes, started by MPI's launcher: `DistributedDataParallel`, `ZeroRedundancyOptimizer`."""

import sys

import pytest

from launching import ROOT, needs_mpi, programs, run, started, started_apart

pytestmark = needs_mpi


def is_right(ended, ranks, text="all is right"):
    assert ended.returncode == 0 and ended.stdout.count(text) == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_training_by_several_is_that_of_one(ranks):
    is_right(started(ranks, "data_parallel.py"), ranks)


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_goes_wrong_is_an_error_on_every_rank(ranks):
    is_right(started(ranks, "data_parallel_errors.py"), ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_split_states_are_those_of_the_plain_optimizer(ranks):
    is_right(started(ranks, "zero.py"), ranks)


@pytest.mark.parametrize("kind, worlds", [("zero", [3, 1, 2]), ("plain", [1, 4, 2])])
def test_training_goes_on_with_other_numbers_of_ranks(tmp_path, kind, worlds):
    for part, ranks in enumerate(worlds):
        is_right(started(ranks, "resumed.py", tmp_path, kind), ranks, f"{2 * part + 2} steps are right")


def test_a_killed_rank_is_an_error_on_the_others():
    ended = started_apart(3, "killed.py")
    assert ended.returncode != 0 and "stops at step 5" in ended.stdout, ended.stdout + ended.stderr
    for rank in 0, 1:
        assert f"rank {rank} stops at step 5" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("number", [0, 1])
def test_the_documented_programs(tmp_path, number):
    program = tmp_path / "train.py"
    program.write_text(programs("docs/distributed.md", "Training")[number])
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "2", program, folder=tmp_path)
    assert ended.returncode == 0 and not ended.stderr, ended.stdout + ended.stderr


def test_the_figures_are_measured():
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "2", ROOT / "bench/python/data_parallel.py", "--small")
    assert ended.returncode == 0 and "hidden" in ended.stdout, ended.stdout + ended.stderr


def test_the_benchmark_of_global_calls_runs():
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "2", ROOT / "bench/python/global_calls.py", "--small")
    assert ended.returncode == 0 and ended.stdout.count("P(sum) to B") == 2, ended.stdout + ended.stderr
