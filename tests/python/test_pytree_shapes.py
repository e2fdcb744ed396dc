"""Shapes in trees."""

import opforge as torch
from opforge.utils import _pytree


def test_the_lengths_of_a_shape_are_leaves():
    shape = torch.zeros(2, 3).shape
    leaves, structure = _pytree.tree_flatten({"shape": shape})
    assert leaves == [2, 3] and _pytree.tree_unflatten(leaves, structure) == {"shape": (2, 3)}
    assert _pytree.tree_map(str, shape) == ("2", "3")
