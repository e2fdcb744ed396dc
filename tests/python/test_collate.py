"""Batches of samples of types that programs add, and the files of PyTorch's that have the functions."""

import numpy
import pytest

import opforge as torch
from opforge.utils.data import DataLoader, default_collate
from opforge.utils.data._utils.collate import collate, collate_tensor_fn, default_collate_fn_map, np_str_obj_array_pattern
from opforge.utils.data._utils.worker import get_worker_info


class Word(str):
    """A text that has batches of its own."""


class Point:
    """What no entry is for."""


def join(batch, *, collate_fn_map=None):
    return "+".join(batch)


def test_a_type_has_its_function_and_so_have_its_subclasses():
    assert collate([1, 2], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)}) == 3
    assert collate([Word("a"), Word("b")], collate_fn_map={str: join}) == "a+b"
    assert collate([Word("a")], collate_fn_map={str: join, Word: lambda batch, *, collate_fn_map: "own"}) == "own", "the type itself goes before its base"


def test_functions_reach_into_containers_and_are_given_the_map():
    seen = []
    functions = {str: lambda batch, *, collate_fn_map: seen.append(collate_fn_map) or join(batch)}
    batch = collate([{"x": ("a", ["b"])}, {"x": ("c", ["d"])}], collate_fn_map=functions)
    assert batch == {"x": ["a+c", ["b+d"]]} and seen == [functions, functions]


def test_without_an_entry_is_an_error():
    with pytest.raises(TypeError, match="found builtins.int"):
        collate([1, 2])
    with pytest.raises(TypeError, match="Point"):
        default_collate([Point()])


def test_an_entry_of_the_defaults_counts_in_loaders():
    default_collate_fn_map[Point] = lambda batch, *, collate_fn_map: len(batch)
    try:
        assert list(DataLoader([Point()] * 3, batch_size=2)) == [2, 1]
    finally:
        del default_collate_fn_map[Point]


def test_what_the_defaults_make():
    assert default_collate([1, 2]).dtype == torch.int64 and default_collate([1.0, 2.0]).dtype == torch.float64 and default_collate([True]).dtype == torch.bool
    assert default_collate([1j]).dtype.is_complex and default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]
    arrays = default_collate([numpy.ones(2, "float32"), numpy.zeros(2, "float32")])
    assert arrays.tolist() == [[1, 1], [0, 0]] and default_collate([numpy.float32(1)]).dtype == torch.float32
    assert collate_tensor_fn([torch.ones(1), torch.zeros(1)]).tolist() == [[1], [0]]
    with pytest.raises(TypeError, match="no tensor"):
        default_collate([numpy.array(["a"])])


def test_texts_that_are_items_of_sequences_become_tuples():
    numbers, names = default_collate([(1, "a"), (2, "b")])
    assert numbers.tolist() == [1, 2] and names == ("a", "b")
    assert default_collate([["a"], ["b"]]) == [("a", "b")] and default_collate([[b"a"]]) == [(b"a",)]
    assert default_collate([{"name": "a"}, {"name": "b"}]) == {"name": ["a", "b"]}
    assert default_collate([({"name": "a"},), ({"name": "b"},)]) == [{"name": ["a", "b"]}]


def test_the_pattern_finds_dtypes_without_numbers():
    found = lambda dtype: np_str_obj_array_pattern.search(numpy.dtype(dtype).str) is not None
    assert found("U3") and found("S2") and found(object) and not found("float32") and not found("int64") and not found(bool)


def test_this_is_no_worker():
    assert get_worker_info() is None
