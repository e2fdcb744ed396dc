"""Loaders with and without worker processes."""

import gc
import multiprocessing.resource_tracker
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import opforge as torch
from opforge.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from loading import Numbers, Row, RowWithLength, lists


def fail(error):
    def action():
        raise error

    return action


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children():
    """The processes that this one started and has not waited for, zombies among them, but for one that multiprocessing keeps."""
    tasks = f"/proc/{os.getpid()}/task"
    found = {int(pid) for task in os.listdir(tasks) for pid in Path(tasks, task, "children").read_text().split()}
    return found - {multiprocessing.resource_tracker._resource_tracker._pid}


@pytest.fixture(autouse=True)
def no_process_is_left():
    before = children()
    yield
    gc.collect()  # of tracebacks
    assert children() <= before


WORKERS = pytest.mark.parametrize("workers", [0, 1, 3])


@WORKERS
def test_batches_in_order(workers):
    loader = DataLoader(Numbers(11), batch_size=3, num_workers=workers)
    assert lists(loader) == lists(loader) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]] and len(loader) == 4
    assert lists(DataLoader(Numbers(11), 3, drop_last=True, num_workers=workers)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert lists(DataLoader(Numbers(3), batch_size=None, num_workers=workers)) == [0, 1, 2]
    assert lists(DataLoader(Numbers(4), batch_sampler=[[3, 0], [1]], num_workers=workers)) == [[3, 0], [1]]
    assert lists(DataLoader(Numbers(4), sampler=[3, 1], num_workers=workers)) == [[3], [1]]
    assert lists(DataLoader(Numbers(0), num_workers=workers)) == []


def test_shuffled_batches_do_not_depend_on_workers():
    orders = []
    for workers in (0, 1, 2):
        torch.manual_seed(5)
        loader = DataLoader(Numbers(20), 4, shuffle=True, num_workers=workers)
        orders.append([lists(loader), lists(loader), torch.rand(1).item()])
    assert orders[0] == orders[1] == orders[2] and orders[0][0] != orders[0][1]
    assert sorted(sum(orders[0][0], [])) == list(range(20))


@WORKERS
def test_iterable(workers):
    loader = DataLoader(Row(10), batch_size=2, num_workers=workers)
    assert sorted(sum(lists(loader), [])) == list(range(10))
    assert sorted(DataLoader(Row(10), batch_size=None, num_workers=workers)) == list(range(10))
    with pytest.raises(TypeError):
        len(loader)


def test_iterable_shares_end_at_different_times():
    assert lists(DataLoader(Row(7), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert lists(DataLoader(Row(7), 2, num_workers=2, drop_last=True)) == [[0, 2], [1, 3], [4, 6]]


@WORKERS
def test_iterable_with_more_than_its_length(workers):
    loader = DataLoader(RowWithLength(5), num_workers=workers)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="more have been fetched"):
        assert len(list(loader)) == 5


class Told(Dataset):
    """What a worker knows of itself, and random numbers."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        info = get_worker_info()
        draws = random.random(), np.random.rand(), torch.rand(1).item()
        return info.id, info.num_workers, info.seed, os.getpid(), torch.get_num_threads(), getattr(info.dataset, "mark", None), draws


def mark(worker_id):
    get_worker_info().dataset.mark = f"marked by {worker_id}"


def test_workers_know_themselves():
    assert get_worker_info() is None
    passes = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(2)
        loader = DataLoader(Told(), batch_size=None, num_workers=2, worker_init_fn=mark, generator=generator, collate_fn=lambda told: told)
        passes.append(list(loader))
    for told in passes:
        ids, counts, seeds, pids, threads, marks, draws = zip(*told)
        assert ids == (0, 1) * 3 and set(counts) == {2} and seeds[1] == seeds[0] + 1
        assert len(set(pids)) == 2 and os.getpid() not in pids and set(threads) == {1}
        assert marks == ("marked by 0", "marked by 1") * 3
        for kind in zip(*draws):
            assert len(set(kind)) == 6
    assert [told[-1] for told in passes[0]] == [told[-1] for told in passes[1]]


def test_large_batches_and_views():
    x = torch.randn(40, 3, 50, 50)
    for batch, part in zip(DataLoader(TensorDataset(x), 10, num_workers=2), x.split(10)):
        assert torch.equal(batch[0], part)
        batch[0].zero_()
    for sample, expected in zip(DataLoader(x, batch_size=None, num_workers=1), x):
        assert torch.equal(sample, expected) and sample.untyped_storage().nbytes() == expected.nbytes
    arrays = DataLoader([np.full(5000, i) for i in range(4)], batch_size=None, num_workers=1, collate_fn=lambda array: array)
    for i, array in enumerate(arrays):
        array += 1
        assert type(array) is np.ndarray and (array == i + 1).all()


def test_indices_and_answers_of_any_size():
    text = "x" * 3_000_000
    loader = DataLoader(["a" + text, "b" + text, "c"] * 3, batch_sampler=[[i] * 100_000 for i in range(6)], num_workers=2, prefetch_factor=3,
                        collate_fn=lambda batch: (len(batch), batch[0]))  # fmt: skip
    assert [(n, item[0], len(item)) for n, item in loader] == [(100_000, "abc"[i % 3], 1 if i % 3 == 2 else 3_000_001) for i in range(6)]


def test_many_tasks_ahead():
    loader = DataLoader(Numbers(3000), num_workers=1, prefetch_factor=2000)
    assert sum(lists(loader), []) == list(range(3000))


def test_out_of_order():
    class Slow(Numbers):
        def __getitem__(self, i):
            time.sleep(0.5 if i == 0 else 0)
            return super().__getitem__(i)

    order = sum(lists(DataLoader(Slow(6), num_workers=2, in_order=False)), [])
    assert sorted(order) == list(range(6)) and order[0] != 0


def test_persistent_workers():
    loader = DataLoader(Told(), batch_size=None, num_workers=2, persistent_workers=True, collate_fn=lambda told: told[3])
    pids = set(loader)
    assert len(pids) == 2 and set(loader) == pids
    next(iter(loader))  # abandoned
    assert list(loader) == list(loader) and set(loader) == pids
    rows = DataLoader(Row(5), batch_size=None, num_workers=2, persistent_workers=True)
    assert sorted(rows) == sorted(rows) == list(range(5))


def test_spawned_workers():
    loader = DataLoader(Numbers(5), 2, num_workers=1, multiprocessing_context="spawn")
    assert lists(loader) == [[0, 1], [2, 3], [4]]


class Mine(Exception):
    pass


class WantsTwo(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("error", [ValueError("no 2"), KeyError("no 2"), Mine("no 2"), torch.ShapeError("no 2")], ids=repr)
def test_exceptions_keep_class_and_traceback(error):
    loader = DataLoader(Numbers(5, _2=fail(error)), num_workers=2)
    batches = iter(loader)
    assert [next(batches).item(), next(batches).item()] == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(batches)
    assert type(caught.value) is type(error)
    text = str(caught.value)
    assert f"Caught {type(error).__name__} in DataLoader worker process 0." in text and "no 2" in text and "in action\n" in text
    assert [batch.item() for batch in batches] == [3, 4]


def test_exceptions_that_cannot_be_made_again():
    class Local(Exception):
        pass

    for error in (WantsTwo("no", "2"), Local("no 2")):
        with pytest.raises(RuntimeError, match=f"Caught {type(error).__name__} in"):
            list(DataLoader(Numbers(5, _2=fail(error)), num_workers=1))


def test_exceptions_elsewhere_in_a_worker():
    with pytest.raises(ValueError, match="worker_init_fn"):
        next(iter(DataLoader(Numbers(5), num_workers=1, worker_init_fn=lambda i: fail(ValueError("no"))())))
    with pytest.raises(Exception, match="sending a batch"):
        list(DataLoader(Numbers(5), num_workers=1, collate_fn=lambda batch: lambda: batch))

    class NoRow(IterableDataset):
        def __iter__(self):
            raise ValueError("no row")

    with pytest.raises(ValueError, match="no row"):
        list(DataLoader(NoRow(), num_workers=2))


def test_killed_worker():
    loader = DataLoader(Numbers(50, _9=lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=2)
    batches, start = iter(loader), time.monotonic()
    pids = {each.process.pid for each in batches._workers}
    with pytest.raises(RuntimeError, match=r"pid \d+\) exited unexpectedly: killed by signal: Killed") as caught:
        list(batches)
    assert time.monotonic() - start < 20
    assert any(str(pid) in str(caught.value) for pid in pids) and not any(map(is_alive, pids))
    with pytest.raises(RuntimeError, match="exit code 3"):
        list(DataLoader(Numbers(50, _9=lambda: os._exit(3)), num_workers=2))


def test_persistent_workers_come_again_after_a_death():
    loader = DataLoader(Numbers(6), num_workers=1, persistent_workers=True)
    batches = iter(loader)
    os.kill(batches._workers[0].process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)
    assert len(list(loader)) == 6


def test_timeout():
    loader = DataLoader(Numbers(5, _1=lambda: time.sleep(60)), num_workers=1, timeout=0.5)
    batches, start = iter(loader), time.monotonic()
    assert next(batches).item() == 0
    with pytest.raises(RuntimeError, match="timed out after 0.5 seconds"):
        next(batches)
    assert time.monotonic() - start < 30


def test_abandoned_iteration_ends_workers_at_once():
    before = children()
    other = DataLoader(Numbers(100), num_workers=1, persistent_workers=True)
    for loader in (DataLoader(Numbers(100), num_workers=2), DataLoader(Numbers(100), num_workers=2)):
        batches = iter(loader)
        next(batches)
        next(iter(other))  # its worker has copies of the connections
        pids, start = [each.process.pid for each in batches._workers], time.monotonic()
        del batches
        assert time.monotonic() - start < 3 and not any(map(is_alive, pids))
    del other
    assert children() <= before


def run(program):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)


def test_exit_of_the_interpreter_ends_workers():
    result = run("""
        from opforge.utils.data import DataLoader
        batches = iter(DataLoader(range(1000), num_workers=2))
        next(batches)
        print(*(each.process.pid for each in batches._workers))
        keep = [batches]
        keep.append(keep)
    """)
    assert result.returncode == 0 and not result.stderr, result.stderr
    assert not any(is_alive(int(pid)) for pid in result.stdout.split())


def test_death_of_the_main_process_ends_workers():
    result = run("""
        import os, signal
        from opforge.utils.data import DataLoader
        one, two = (iter(DataLoader(range(1000), num_workers=2)) for _ in range(2))
        print(*(each.process.pid for each in one._workers + two._workers), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    pids, end = [int(pid) for pid in result.stdout.split()], time.monotonic() + 20
    assert len(pids) == 4
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_import_is_light():
    result = run("""
        import sys
        from opforge.utils.data import DataLoader
        list(DataLoader(range(3)))
        print([name for name in ("multiprocessing", "numpy") if name in sys.modules])
    """)
    assert result.stdout == "[]\n", result.stderr


def test_loader_errors():
    numbers = Numbers(4)
    wrong = [
        {"num_workers": -1}, {"timeout": -1}, {"timeout": 1}, {"prefetch_factor": 2}, {"persistent_workers": True},
        {"multiprocessing_context": "fork"}, {"num_workers": 1, "prefetch_factor": 0}, {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2}, {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True}, {"batch_size": 0},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises(ValueError):
            DataLoader(numbers, **options)
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="IterableDataset"):
            DataLoader(Row(3), **options)
    with pytest.raises(ValueError, match="should not be set"):
        DataLoader(numbers).batch_size = 3


def test_seeds_of_workers_are_numpys():
    from opforge.utils.data._utils.worker import _generate_state

    assert _generate_state(123456789012345, 3) == [3999280408, 2418223825, 1775828080, 3641838301]


def test_an_iterator_reads_loaders_of_packages():
    from opforge.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        """A loader that makes its own batches, with the attributes that PyTorch's have."""

        _auto_collation, collate_fn, drop_last, generator, num_workers = False, staticmethod(lambda batch: batch * 2), False, None, 0
        _dataset_kind, _index_sampler = _DatasetKind.Iterable, range(100)

        def __init__(self):
            self.dataset = self

        def __iter__(self):
            return iter([torch.ones(1), torch.zeros(2)])

    assert [batch.tolist() for batch in _SingleProcessDataLoaderIter(Loader())] == [[2], [0, 0]]
