"""Nodes of the recorded graph, as programs that draw it walk them."""

import gc

import pytest

import opforge as torch


def _nodes(tensor):
    found, waiting = [], [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.append(node)
            waiting += [source for source, _ in node.next_functions]
    return found


def test_classes_are_named_as_the_calls_are():
    x = torch.ones(3, requires_grad=True)
    y = (x * 2 + 1).exp()
    assert [type(node).__name__ for node in _nodes(y)] == ["ExpBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"]
    assert all(isinstance(node, torch.autograd.graph.Node) for node in _nodes(y))
    assert type(y.grad_fn) is type(x.exp().grad_fn)


def test_a_node_is_one_object_while_somebody_holds_it():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y + y
    node = y.grad_fn
    assert z.grad_fn.next_functions[0][0] is node and z.grad_fn.next_functions[1][0] is node and isinstance(z.grad_fn.next_functions, tuple)
    del node
    gc.collect()
    assert y.grad_fn is not None


def test_leaves_have_their_variable_and_others_none():
    weight = torch.nn.Parameter(torch.ones(3))
    plain = torch.ones(3).requires_grad_()
    found = {id(node.variable) for node in _nodes(weight * plain) if hasattr(node, "variable")}
    assert found == {id(weight), id(plain)}
    with pytest.raises(AttributeError, match="MulBackward0"):
        (weight * plain).grad_fn.variable


def test_a_parameter_with_other_elements_is_still_the_variable():
    weight = torch.nn.Parameter(torch.ones(3))
    weight.data = torch.zeros(3)
    assert (weight * 2).grad_fn.next_functions[0][0].variable is weight


def test_views_know_what_they_show():
    x = torch.arange(6.0)
    view = x.view(2, 3)
    assert view._is_view() and view._base.data_ptr() == x.data_ptr() and not x._is_view() and x._base is None


def test_nothing_is_recorded_in_inference_mode():
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        with torch.set_grad_enabled(True):
            assert not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
    with torch.no_grad(), torch.enable_grad():
        assert (x * 2).requires_grad
