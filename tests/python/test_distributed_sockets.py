"""`opforge.distributed` in programs of several processes without MPI."""

import datetime
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import opforge
import opforge.distributed as dist
from launching import PROGRAMS, run
from opforge.cli.ranks import free_port
from test_distributed_mpi import FAILING

TUTORIALS = PROGRAMS / "tutorials"


def without_mpi(ranks, program, *arguments):
    """Runs a program of the tests as so many processes that sockets connect."""
    return run(sys.executable, "-m", "opforge", "run", "--backend", "gloo", "-n", ranks, PROGRAMS / program, *arguments)


@pytest.mark.parametrize("ranks, program", [(2, "all_calls.py"), (4, "all_calls.py"), (3, "global_tensors.py"), (2, "differentiable.py"), (2, "data_parallel.py")])
def test_programs_of_ranks(ranks, program):
    ended = without_mpi(ranks, program)
    assert ended.returncode == 0 and ended.stdout.count("all is right") == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


@pytest.mark.parametrize("kind", ["diverged", "raises", "leaves", "stuck", "interrupted", "interrupted_global", "part_fails"])
def test_errors_end_all_ranks(kind):
    first, count, texts = next(rest for known, *rest in FAILING if known == kind)
    begun = time.monotonic()
    ended = without_mpi(2, "failing.py", kind)
    assert ended.returncode != 0 and time.monotonic() - begun < 30
    assert ended.stderr.count("Traceback") == count and all(text in ended.stderr for text in texts), ended.stderr
    last = ended.stderr.rstrip().splitlines()[-1]
    assert last.startswith(f"opforge run: rank {first} failed first: " if first is not None else "opforge run: rank "), ended.stderr


def test_a_killed_rank_is_an_error_of_the_others_at_once():
    ended = without_mpi(3, "killed.py")
    assert ended.returncode == 128 + signal.SIGKILL and ended.stdout.count("stops at step 5") == 2, ended.stdout + ended.stderr
    assert "rank 2 has left without a goodbye" in ended.stdout, ended.stdout
    assert ended.stderr.rstrip().endswith("opforge run: rank 2 failed first: SIGKILL"), ended.stderr


def test_processes_meet_in_all_ways(tmp_path):
    ended = run(sys.executable, "-m", "opforge", "run", PROGRAMS / "meetings.py", tmp_path)
    assert ended.returncode == 0 and "all is right" in ended.stdout, ended.stdout + ended.stderr


def test_the_tutorial_on_data_parallel_training():
    ended = run(sys.executable, "-m", "opforge", "run", TUTORIALS / "ddp.py", free_port())
    assert ended.returncode == 0 and ended.stdout.count("Finished running") == 4, ended.stdout + ended.stderr


@pytest.mark.parametrize("method, ranks", [("spawn", 2), ("fork", 4)])
def test_the_tutorial_on_messages(method, ranks):
    ended = run(sys.executable, "-m", "opforge", "run", TUTORIALS / "messages.py", free_port(), method, ranks)
    total = ranks * (ranks + 1) / 2
    assert ended.returncode == 0 and ended.stdout.count(f"has data {total} by gloo") == ranks, ended.stdout + ended.stderr
    assert not ended.stderr, ended.stderr


@pytest.mark.parametrize("launcher", [["opforge.distributed.run"], ["opforge", "run", "-m", "torch.distributed.run"]])
def test_the_launcher_of_pytorch(launcher):
    ended = run(sys.executable, "-m", *launcher, "--standalone", "--nnodes=1", "--nproc_per_node", 2, "--max-restarts", 0, TUTORIALS / "elastic.py", "--lr=1")
    assert ended.returncode == 0 and ended.stdout.count("of 2 ['--lr=1']") == 2, ended.stdout + ended.stderr


def test_the_launcher_tells_the_first_failure():
    code = "import os, sys, time; time.sleep(20 * (os.environ['RANK'] == '0')); sys.exit(5)"
    begun = time.monotonic()
    ended = run(sys.executable, "-m", "opforge.distributed.run", "--nproc-per-node=2", "--no-python", sys.executable, "-c", code)
    assert ended.returncode == 5 and time.monotonic() - begun < 20, ended.stderr
    ended = run(sys.executable, "-m", "opforge.distributed.run", "--nproc-per-node=none", "x.py")
    assert ended.returncode == 2 and "expected a number" in ended.stderr


def test_the_end_of_the_launcher_is_the_end_of_its_processes(tmp_path):
    program = tmp_path / "waits.py"
    program.write_text("import os, sys, time\nopen(f'{sys.argv[1]}/{os.getpid()}', 'w').close()\ntime.sleep(60)\n")
    folder = tmp_path / "running"
    folder.mkdir()
    package = str(os.path.dirname(os.path.dirname(opforge.__file__)))
    command = [sys.executable, "-m", "opforge", "run", "--backend", "gloo", "-n", "2", str(program), str(folder)]
    launcher = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": package})
    until = time.monotonic() + 30
    while len(list(folder.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    started = [int(file.name) for file in folder.iterdir()]
    launcher.terminate()
    assert launcher.wait(30) == 128 + signal.SIGTERM and len(started) == 2
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    made = {
        "hash": dist.HashStore, "file": lambda: dist.FileStore(str(tmp_path / "store"), 1),
        "tcp": lambda: dist.TCPStore("127.0.0.1", is_master=True), "prefix": lambda: dist.PrefixStore("a", dist.HashStore()),
    }  # fmt: skip
    return made[request.param]()


def test_stores(store):
    before = store.num_keys()
    store.set("text", "value")
    store.set("bytes", b"\0\xff")
    assert store.get("text") == b"value" and store.multi_get(["bytes", "text"]) == [b"\0\xff", b"value"]
    assert (store.add("count", 3), store.add("count", -1), store.get("count")) == (3, 2, b"2")
    store.append("text", "s")
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.get("text") == b"values" and store.check(["a", "b"]) and not store.check(["a", "c"]) and store.num_keys() == before + 5
    assert store.compare_set("new", "", "first") == b"first" and store.compare_set("new", "other", "x") == b"first"
    assert store.compare_set("new", "first", "second") == b"second" and store.compare_set("none", "expected", "x") == b"expected"
    assert store.delete_key("a") and not store.delete_key("a") and not store.check(["a"])
    threading.Timer(0.05, store.set, ["later", "there"]).start()
    store.wait(["later"])
    store.set_timeout(datetime.timedelta(milliseconds=180))
    with pytest.raises(dist.DistStoreError, match="wait timeout after 180ms, keys: never"):
        store.get("never")


def test_stores_of_files_and_servers_are_shared(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
    first.set("key", "value")
    assert second.get("key") == b"value" and path.exists()
    del first
    assert path.exists()
    del second
    assert not path.exists()
    master = dist.TCPStore("localhost", 0, 1, True)
    other = dist.TCPStore("localhost", master.port, is_master=False)
    other.set("key", "value")
    assert master.get("key") == b"value" and master.host == "localhost"
    with pytest.raises(dist.DistNetworkError, match="cannot listen"):
        dist.TCPStore("localhost", master.port, 1, True)
