"""Trees of containers: what is taken apart is put together, and structures tell what fits."""

import collections
import dataclasses
import time

import pytest

import opforge as torch
from opforge.utils import _pytree as tree

Point = collections.namedtuple("Point", "x y")

TREES = [
    (1, [1]),
    ([1, (2, 3)], [1, 2, 3]),
    ({"b": 1, "a": [2]}, [1, 2]),
    (collections.OrderedDict(b=1, a=2), [1, 2]),
    (Point(1, [2]), [1, 2]),
    (collections.deque([1, 2], maxlen=3), [1, 2]),
    (collections.defaultdict(list, x=[1]), [1]),
    (None, [None]),
    ([], []),
    ({}, []),
    ({1, 2}, [{1, 2}]),
]


@pytest.mark.parametrize("value, leaves", TREES)
def test_leaves_and_back(value, leaves):
    found, spec = tree.tree_flatten(value)
    assert found == leaves and spec.num_leaves == len(leaves)
    again = tree.tree_unflatten(leaves, spec)
    assert again == value and type(again) is type(value) and getattr(again, "maxlen", None) == getattr(value, "maxlen", None)


def test_maps():
    assert tree.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 10, "a": 20}) == {"a": 21, "b": 12}
    assert tree.tree_map(lambda a, b: (a, b), [1, 2], [[3], 4]) == [(1, [3]), (2, 4)]
    assert tree.tree_map_only(int, lambda a: a + 1, [1, "x", (2.5, 3)]) == [2, "x", (2.5, 4)]
    assert tree.tree_map_only(lambda a: a == 1, lambda a: "one", [1, 2]) == ["one", 2]
    assert tree.tree_map(lambda x: x, [1, [2]], is_leaf=lambda x: x == [2]) == [1, [2]]
    assert tree.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]) == [1, [2]]
    x = torch.ones(2)
    assert tree.tree_map_only(torch.Tensor, lambda t: t * 3, {"x": x, "n": 1})["x"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("first, second", [([1, 2], (3, 4)), ([1, 2], [3]), ({"a": 1}, {"b": 1}), ([1], 2)])
def test_trees_of_other_structures_do_not_map_together(first, second):
    with pytest.raises(ValueError):
        tree.tree_map(lambda a, b: a, first, second)


def test_structures():
    spec = tree.tree_structure([1, {"a": 2}])
    assert spec == tree.tree_structure([5, {"a": 6}]) != tree.tree_structure([1, {"b": 2}])
    assert hash(spec) == hash(tree.tree_structure([5, {"a": 6}])) and spec != tree.tree_structure((1, {"a": 2}))
    assert (spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf()) == (4, 2, 2, False)
    assert repr(spec) == "TreeSpec(list, None, [*,\n  TreeSpec(dict, ['a'], [*])])"
    with pytest.raises(ValueError, match="2 items"):
        tree.tree_unflatten([1], spec)


def test_paths():
    value = {"a": [1, Point(2, 3)]}
    assert [(tree.keystr(path), leaf) for path, leaf in tree.tree_leaves_with_path(value)] == [("['a'][0]", 1), ("['a'][1].x", 2), ("['a'][1].y", 3)]
    assert tree.tree_map_with_path(lambda path, leaf: len(path), value) == {"a": [2, Point(3, 3)]}


def test_registered_classes():
    @dataclasses.dataclass
    class Pair:
        left: int
        right: list

    tree.register_dataclass(Pair)
    assert tree.tree_map(lambda x: x + 1, Pair(1, [2])) == Pair(2, [3])
    assert [tree.keystr(path) for path, _ in tree.tree_leaves_with_path(Pair(1, [2]))] == [".left", ".right[0]"]
    with pytest.raises(ValueError, match="already"):
        tree.register_dataclass(Pair)


def test_the_lengths_of_a_shape_are_leaves():
    shape = torch.zeros(2, 3).shape
    leaves, structure = tree.tree_flatten({"shape": shape})
    assert leaves == [2, 3] and tree.tree_unflatten(leaves, structure) == {"shape": (2, 3)}
    assert tree.tree_map(str, shape) == ("2", "3")


def test_containers_of_packages_register_as_lists():
    class Mine(list):
        pass

    tree.register_pytree_node(Mine, tree._list_flatten, tree._list_unflatten, flatten_with_keys_fn=tree._list_flatten_with_keys)
    assert tree.tree_leaves({"a": Mine([1, 2])}) == [1, 2] and tree._tuple_unflatten([1], None) == (1,)
    assert tree.is_structseq_instance(time.localtime()) and not tree.is_structseq_instance((1,))
