"""`opforge.distributed` in programs of several processes, started by MPI's launcher."""

import json
import sys
import time

import pytest

from launching import PROGRAMS, ROOT, needs_mpi, programs, run, started

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_call(ranks):
    ended = started(ranks, "all_calls.py")
    assert ended.returncode == 0 and ended.stdout.count("all is right") == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


@pytest.mark.parametrize("program", ["sync_batchnorm.py", "differentiable.py"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_gradients_between_ranks(ranks, program):
    ended = started(ranks, program)
    assert ended.returncode == 0 and ended.stdout.count("all is right") == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


# What goes wrong; the rank that fails first, if that is one; how many ranks get an error, the others being asleep or gone; what is said.
FAILING = [
    ("diverged", None, 2, ["rank 0 called all_reduce(sum) of f32 [2]", "rank 1 called broadcast(root 0)", "failing.py:"]),
    ("shapes", None, 2, ["all_reduce(sum) of f32 [2]", "all_reduce(sum) of f32 [3]"]),
    ("raises", 1, 2, ["FileNotFoundError: no such file: weights", "rank 1 stopped after an error: FileNotFoundError"]),
    ("raises_under_way", 1, 2, ["FileNotFoundError: no such file: weights"]),
    ("leaves", 1, 1, ["rank 1 called close"]),
    ("stuck", 0, 1, ["rank 0 waited 3s in all_reduce", "for rank 1"]),
    ("interrupted", 0, 1, ["KeyboardInterrupt", "failing.py"]),
    ("interrupted_global", 0, 1, ["KeyboardInterrupt", "failing.py"]),
    ("part_fails", None, 2, ["rank 1 stopped after an error: invalid argument in remainder", "called all_reduce(sum) of i64 [2] at ", "failing.py:"]),
    ("no_memory", 1, 2, ["rank 1 stopped after an error: OutOfMemoryError: out of memory", "called all_gather of f32", "failing.py:"]),
    ("no_memory_for_a_part", 1, 2, ["rank 1 stopped after an error: OutOfMemoryError: out of memory"]),
    ("diverged_global", None, 2, ["rank 0 called all_reduce(sum) of f32 [2] at ", "rank 1 called all_gather of i64 [1] at ", "failing.py:"]),
    ("caught", None, 4, ["it has failed earlier"]),
]


@pytest.mark.parametrize("kind, first, count, texts", FAILING, ids=[kind for kind, *_ in FAILING])
def test_errors_end_all_ranks(kind, first, count, texts):
    begun = time.monotonic()
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "2", PROGRAMS / "failing.py", kind)
    assert ended.returncode != 0 and time.monotonic() - begun < 30
    assert ended.stderr.count("Traceback") == count and all(text in ended.stderr for text in texts), ended.stderr
    # Places are those of the program, not of what carries its calls out.
    assert ".rs:" not in ended.stderr, ended.stderr
    # Whoever failed first has the last word.
    last = ended.stderr.rstrip().splitlines()[-1]
    assert last.startswith(f"opforge run: rank {first} failed first: " if first is not None else "opforge run: rank "), ended.stderr


def test_a_process_that_fails_by_itself_is_named_first(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, time, opforge.distributed as dist\n"
        "dist.init_process_group()\n"
        "if dist.get_rank() == 1:\n"
        "    raise KeyError('weights') if sys.argv[1:] else sys.exit(3)\n"
        "dist.barrier()\n"
    )
    for arguments, text in ([], "exit status 3"), (["-x"], "KeyError: 'weights'"):
        ended = run(sys.executable, "-m", "opforge", "run", "-n", "3", program, *arguments)
        assert ended.returncode != 0 and ended.stderr.rstrip().endswith(f"opforge run: rank 1 failed first: {text}"), ended.stderr


@pytest.mark.parametrize("title, number", [("From Python", 0), ("From Python", 1), ("Global tensors", 0)])
def test_the_documented_programs(tmp_path, title, number):
    program = tmp_path / "train.py"
    program.write_text(programs("docs/distributed.md", title)[number])
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "3", program, folder=tmp_path)
    assert "init_process_group" in program.read_text() and ended.returncode == 0, ended.stdout + ended.stderr


def test_the_command_starts_processes(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import os, sys, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo', rank=int(os.environ['RANK']), world_size=int(os.environ['WORLD_SIZE']))\n"
        "x = torch.ones(1)\n"
        "dist.all_reduce(x)\n"
        "sys.stdout.write(f'{x.item()}{sys.argv[1:]}\\n')\n"
        "dist.destroy_process_group()\n"
        "sys.exit(int(sys.argv[1]))\n"
    )
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "2", program, "0", "--lr=1")
    assert ended.returncode == 0 and ended.stdout.count("2.0['0', '--lr=1']\n") == 2, ended.stdout + ended.stderr
    assert run(sys.executable, "-m", "opforge", "run", "-n", "2", program, "5").returncode != 0
    missing = run(sys.executable, "-m", "opforge", "run", "-n", "2", tmp_path / "none.py")
    assert missing.returncode == 2 and "there is no file" in missing.stderr


@pytest.mark.parametrize("program", ["custom.py", "dtensor.py", "global_tensors.py", "global_training.py", "placed.py", "planned.py"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_global_tensors(ranks, program):
    ended = started(ranks, program)
    assert ended.returncode == 0 and ended.stdout.count("all is right") == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


def test_the_demo_trains_on_four_ranks(tmp_path):
    ended = run(sys.executable, "-m", "opforge", "run", "-n", "4", ROOT / "demo/ranks.py", tmp_path / "ranks.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = json.loads((tmp_path / "ranks.json").read_text())
    assert len(results) == 5
    for result in results:
        assert result["losses"] == pytest.approx(result["alone"], rel=1e-9) and result["losses"][-1] < result["losses"][0]
        assert all(rank["bytes"] > 0 and 0 <= rank["hidden"] <= 1 and all(rank["lanes"]) for rank in result["ranks"])
