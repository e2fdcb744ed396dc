"""Data sets, samplers and collation."""

import collections

import numpy as np
import pytest

import opforge as torch
from opforge.utils import data
from opforge.utils.data import DataLoader, Dataset, TensorDataset

from loading import Numbers, Row, RowWithLength, lists

# Data sets


def test_tensor_dataset():
    dataset = TensorDataset(torch.arange(6).reshape(3, 2), torch.tensor([7, 8, 9]))
    x, y = dataset[1]
    assert x.tolist() == [2, 3] and y.item() == 8 and len(dataset) == 3
    with pytest.raises(AssertionError, match=r"lengths \[3, 2\]"):
        TensorDataset(torch.ones(3), torch.ones(2))


def test_concatenated_and_chained():
    both = Numbers(3) + Numbers(2)
    assert isinstance(both, data.ConcatDataset) and len(both) == 5
    assert [both[i].item() for i in range(-5, 5)] == [0, 1, 2, 0, 1] * 2
    for index, error in (5, IndexError), (-6, ValueError):
        with pytest.raises(error, match=f"index {index} is out of range for 5 samples"):
            both[index]
    with pytest.raises(AssertionError, match="empty"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        data.ConcatDataset([Row(3)])
    assert list(Row(3) + Row(2)) == [0, 1, 2, 0, 1]
    assert len(RowWithLength(9) + RowWithLength(9)) == 6
    with pytest.raises(AssertionError):
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
    assert type(point) is Point and point.x.tolist() == [2.0, 4.0] and point.y == ("p", "q")
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


def test_samples_of_one_of_several_processes():
    parts = [torch.utils.data.DistributedSampler(range(7), 3, rank, shuffle=False) for rank in range(3)]
    assert [list(part) for part in parts] == [[0, 3, 6], [1, 4, 0], [2, 5, 1]] and len(parts[0]) == 3
    shuffled = [torch.utils.data.DistributedSampler(range(6), 2, rank, seed=1) for rank in range(2)]
    assert sorted([*shuffled[0], *shuffled[1]]) == list(range(6))
    with pytest.raises(ValueError, match="rank"):
        torch.utils.data.DistributedSampler(range(6), 2, 2)
