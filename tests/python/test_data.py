"""Data sets, samplers, collation, and loaders with and without worker processes."""

import collections
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
from opforge.utils import data
from opforge.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Numbers(Dataset):
    """0, 1, .. as tensors; `at` has actions for some of them, done in whatever process."""

    def __init__(self, count, **at):
        self.count = count
        self.at = at

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.at.get(f"_{i}", lambda: None)()
        return torch.tensor(i)


class Row(IterableDataset):
    """0, 1, .. as numbers, shared out among workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.count) if info is None else range(info.id, self.count, info.num_workers))


class RowWithLength(Row):
    def __len__(self):
        return 3


def lists(loader):
    return [batch.tolist() for batch in loader]


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


# Data sets


def test_tensor_dataset():
    dataset = TensorDataset(torch.arange(6).reshape(3, 2), torch.tensor([7, 8, 9]))
    x, y = dataset[1]
    assert x.tolist() == [2, 3] and y.item() == 8 and len(dataset) == 3
    with pytest.raises(ValueError, match=r"lengths \[3, 2\]"):
        TensorDataset(torch.ones(3), torch.ones(2))


def test_concatenated_and_chained():
    both = Numbers(3) + Numbers(2)
    assert isinstance(both, data.ConcatDataset) and len(both) == 5
    assert [both[i].item() for i in range(-5, 5)] == [0, 1, 2, 0, 1] * 2
    for index in (5, -6):
        with pytest.raises(IndexError):
            both[index]
    with pytest.raises(ValueError):
        data.ConcatDataset([])
    with pytest.raises(TypeError):
        data.ConcatDataset([Row(3)])
    assert list(Row(3) + Row(2)) == [0, 1, 2, 0, 1]
    assert len(RowWithLength(9) + RowWithLength(9)) == 6
    with pytest.raises(TypeError):
        list(data.ChainDataset([Numbers(3)]))


def test_stacked():
    stacked = data.StackDataset(Numbers(3), "abc")
    assert stacked[2] == (torch.tensor(2), "c") and len(stacked) == 3
    named = data.StackDataset(number=Numbers(3), letter="abc")
    assert named.__getitems__([2, 0]) == [{"number": torch.tensor(2), "letter": "c"}, {"number": torch.tensor(0), "letter": "a"}]
    for wrong in [lambda: data.StackDataset(), lambda: data.StackDataset("ab", "abc"), lambda: data.StackDataset("a", b="b")]:
        with pytest.raises(ValueError):
            wrong()


def test_subset_reads_batches_at_once():
    calls = []

    class AtOnce(Dataset):
        def __getitems__(self, indices):
            calls.append(indices)
            return [10 * i for i in indices]

    subset = data.Subset(AtOnce(), [4, 2, 0])
    assert lists(DataLoader(subset, batch_size=2)) == [[40, 20], [0]]
    assert calls == [[4, 2], [0]]

    class TooFew(Numbers):
        def __getitems__(self, indices):
            return indices[:1]

    with pytest.raises(ValueError, match="returned 1 samples for 2 indices"):
        next(iter(DataLoader(TooFew(4), batch_size=2)))


def test_random_split():
    generator = torch.Generator().manual_seed(1)
    parts = data.random_split(range(10), [7, 3], generator)
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(i for part in parts for i in part) == list(range(10))
    again = data.random_split(range(10), [7, 3], generator.manual_seed(1))
    assert [list(part) for part in again] == [list(part) for part in parts]
    assert [len(part) for part in data.random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(10), [7, 4])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        data.random_split(range(2), [0.9, 0.1])


# Samplers


def test_sequential_and_batches():
    order = data.SequentialSampler(range(5))
    assert list(order) == [0, 1, 2, 3, 4] and len(order) == 5
    for drop_last, expected in [(False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])]:
        batches = data.BatchSampler(order, 2, drop_last)
        assert list(batches) == expected and len(batches) == len(expected)
    for arguments in [(order, 0, False), (order, True, False), (order, 2.0, False), (order, 2, 1)]:
        with pytest.raises(ValueError):
            data.BatchSampler(*arguments)


def test_random_sampler():
    sampler = data.RandomSampler(range(50), generator=torch.Generator().manual_seed(0))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    longer = list(data.RandomSampler(range(5), num_samples=12))
    assert sorted(longer[:5]) == sorted(longer[5:10]) == list(range(5)) and len(set(longer[10:])) == 2
    repeated = data.RandomSampler(range(5), replacement=True, num_samples=100)
    assert len(repeated) == len(list(repeated)) == 100 and set(repeated) == set(range(5))
    assert list(data.RandomSampler([])) == []
    for wrong in [{"num_samples": 0}, {"num_samples": 1.5}, {"replacement": 1}]:
        with pytest.raises(ValueError):
            data.RandomSampler(range(5), **wrong)


def test_random_sampler_follows_the_process_seed():
    orders = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        orders.append(list(data.RandomSampler(range(30))))
    assert orders[0] == orders[1] != orders[2]


def test_subset_and_weighted_samplers():
    assert sorted(data.SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    torch.manual_seed(0)
    drawn = collections.Counter(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert drawn[0] == 0 and 2.5 < drawn[2] / drawn[1] < 3.5
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False)) == [0, 1, 2]
    for arguments in [([[1.0]], 1), ([1.0], 0), ([1.0], 1, 1)]:
        with pytest.raises(ValueError):
            data.WeightedRandomSampler(*arguments)


# Collation

Point = collections.namedtuple("Point", "x y")


def test_collate_values():
    collate = data.default_collate
    assert collate([1, 2]).dtype is torch.int64 and collate([1.0, 2.0]).dtype is torch.float64
    assert collate([True, False]).dtype is torch.bool
    assert collate(["a", b"b"]) == ["a", b"b"]
    assert collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    array = collate([np.arange(2, dtype=np.int16), np.arange(2, dtype=np.int16)])
    assert array.dtype is torch.int16 and array.tolist() == [[0, 1], [0, 1]]
    assert collate([np.float32(1), np.float32(2)]).dtype is torch.float32


def test_collate_containers():
    batch = data.default_collate([{"a": (1, Point(2.0, "p"))}, {"a": (3, Point(4.0, "q"))}])
    numbers, point = batch["a"]
    assert type(batch["a"]) is list and numbers.tolist() == [1, 3]
    assert type(point) is Point and point.x.tolist() == [2.0, 4.0] and point.y == ["p", "q"]
    ordered = data.default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]
    assert [part.tolist() for part in data.default_collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]


def test_collate_errors():
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="found .*object"):
        data.default_collate([object()])
    with pytest.raises(TypeError, match="dtype"):
        data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError):
        data.default_collate([torch.ones(2), torch.ones(3)])


def test_convert():
    converted = data.default_convert({"a": np.ones(2), "b": (np.int64(3), "text"), "c": Point(1, np.zeros(1))})
    assert converted["a"].tolist() == [1.0, 1.0] and converted["b"][0].item() == 3 and converted["b"][1] == "text"
    assert type(converted["c"]) is Point and converted["c"].x == 1 and converted["c"].y.tolist() == [0.0]


# Loaders

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
