"""Hooks of what is kept for backward."""

import weakref

import pytest

import opforge as torch
from opforge.autograd import Function
from opforge.autograd.graph import disable_saved_tensors_hooks, register_multi_grad_hook, save_on_cpu, saved_tensors_hooks
from opforge.utils.checkpoint import checkpoint


class Log:
    """Hooks that copy what they get, and write down its shape."""

    def __init__(self):
        self.packed, self.unpacked = [], []

    def pack(self, tensor):
        self.packed.append(tuple(tensor.shape))
        return tensor.clone()

    def unpack(self, tensor):
        self.unpacked.append(tuple(tensor.shape))
        return tensor

    def block(self):
        return saved_tensors_hooks(self.pack, self.unpack)


class Scaled(Function):
    """`exp(x) y`, which keeps an input and its output."""

    @staticmethod
    def forward(ctx, x, y):
        result = x.exp() * y
        ctx.save_for_backward(result, x, None)
        return result

    @staticmethod
    def backward(ctx, grad):
        result, x, nothing = ctx.saved_tensors
        assert nothing is None
        return grad * result, grad * x.exp()


def leaves():
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()
    return x, torch.linspace(0, 1, 8, dtype=torch.float64).reshape(4, 2).requires_grad_()


def network(x, weight):
    """Views, several outputs, lists of tensors, indexing, a change in place, random numbers."""
    y = (x @ weight).tanh().exp()
    y = y * y + x.sum(1, keepdim=True)
    values, _ = y.max(0)
    y = y.softmax(1)[:, :1] * 2 + torch.cat([values, values]).sum() + torch.nn.functional.dropout(y, 0.5).sum()
    return y.t().clone().mul_(y.t()).sum()


def test_operators_are_packed_and_differentiated():
    x, weight = leaves()
    torch.manual_seed(3)
    plain = torch.autograd.grad(network(x, weight), (x, weight), create_graph=True)
    log = Log()
    torch.manual_seed(3)
    with log.block():
        loss = network(x, weight)
    assert (3, 4) in log.packed and (4, 2) in log.packed and not log.unpacked
    state = torch.get_rng_state()
    packed = torch.autograd.grad(loss, (x, weight), create_graph=True)
    assert torch.equal(state, torch.get_rng_state())
    assert sorted(set(log.unpacked)) == sorted(set(log.packed))
    for mine, other in zip(packed, plain):
        torch.testing.assert_close(mine, other)
    again = [torch.autograd.grad(sum(g.pow(2).sum() for g in grads), (x, weight)) for grads in (packed, plain)]
    for mine, other in zip(*again):
        torch.testing.assert_close(mine, other)


def test_what_is_unpacked_decides_the_gradient():
    x = torch.tensor([3.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: t.tolist(), lambda values: 2 * torch.tensor(values)):
        y = x * x
    y.backward()
    assert x.grad.item() == 12.0


def test_the_graph_keeps_what_hooks_return_and_no_more():
    x = torch.ones(3, requires_grad=True)
    with saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        y = x * 2
        ref = weakref.ref(y)
        z = y.exp().sum()
    del y
    assert ref() is None
    z.backward()
    torch.testing.assert_close(x.grad, 2 * torch.full((3,), 2.0).exp())


def test_functions_pack_what_they_save():
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 2.0]))
    log = Log()
    with log.block():
        result = Scaled.apply(x * 1, y)
    assert log.packed.count((2,)) >= 2
    first = torch.autograd.grad(result.sum(), (x, y), create_graph=True)
    torch.testing.assert_close(first, ((x.exp() * y), x.exp()))
    second = torch.autograd.grad((first[0] ** 2).sum() + (first[1] ** 3).sum(), (x, y))
    expected = torch.autograd.grad(((x.exp() * y) ** 2).sum() + (x.exp() ** 3).sum(), (x, y))
    torch.testing.assert_close(second, expected)


def test_what_calls_change_is_changed_once():
    """Running statistics by batch normalization, rows by a largest norm."""
    x = torch.linspace(-1, 2, 12).reshape(4, 3)
    for make in (lambda: torch.nn.BatchNorm1d(3), lambda: torch.nn.BatchNorm1d(3, momentum=None)):
        plain, hooked = make(), make()
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            result = hooked(x)
        result.pow(3).sum().backward()
        plain(x).pow(3).sum().backward()
        for mine, other in zip(hooked.state_dict().values(), plain.state_dict().values()):
            torch.testing.assert_close(mine, other)
        torch.testing.assert_close(hooked.weight.grad, plain.weight.grad)


def test_sparse_tensors_go_through():
    values, x = torch.tensor([2.0, 3.0], requires_grad=True), torch.ones(3, 2, requires_grad=True)
    with Log().block():
        result = torch.sparse_coo_tensor([[0, 1], [2, 0]], values, (2, 3)) @ (x * x)
    result.sum().backward()
    assert values.grad.tolist() == [2.0, 2.0] and x.grad.tolist() == [[6.0, 6.0], [0.0, 0.0], [4.0, 4.0]]


def test_only_the_innermost_hooks_see_what_is_saved():
    outer, inner = Log(), Log()
    x = torch.tensor([3.0], requires_grad=True)
    with outer.block(), inner.block():
        y = x * x
    assert inner.packed and not outer.packed
    with outer.block(), save_on_cpu(pin_memory=True):
        y = y + x * x
    assert not outer.packed
    with outer.block():
        y = y + x.exp()
    assert outer.packed
    y.backward()
    torch.testing.assert_close(x.grad, torch.tensor([12.0]) + torch.tensor([3.0]).exp())


def test_a_checkpoint_packs_what_it_is_given():
    log, x = Log(), torch.tensor([3.0], requires_grad=True)
    with log.block():
        y = checkpoint(lambda x: x.exp().sin() * x, x, use_reentrant=False)
    assert log.packed == [(1,)]
    y.backward()
    expected = torch.tensor([3.0], requires_grad=True)
    (expected.exp().sin() * expected).backward()
    torch.testing.assert_close(x.grad, expected.grad)


def test_hooks_may_be_disabled():
    for hooks in (Log().block(), save_on_cpu()):
        with pytest.raises(RuntimeError, match="^not here$"), disable_saved_tensors_hooks("not here"), hooks:
            pass
        with hooks:
            pass


def test_an_unpack_hook_returns_a_tensor():
    x = torch.tensor([3.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: 3, lambda packed: packed):
        y = x * x
    with pytest.raises(TypeError, match="expected to be a Tensor"):
        y.backward()


def test_checkpoints_give_gradients_to_named_tuples():
    x = torch.tensor([3.0, 2.0], requires_grad=True)
    found = checkpoint(lambda x: (x * x).max(0), x, use_reentrant=False)
    found.values.backward()
    assert found.indices.item() == 0 and x.grad.tolist() == [6.0, 0.0]


def test_a_hook_of_several_gradients_begins_again_with_each_backward():
    a, b = (torch.tensor([float(i)], requires_grad=True) for i in (1, 2))
    seen = []
    constant = torch.ones(1)
    with register_multi_grad_hook((a, constant, b), lambda grads: seen.append([g and g.item() for g in grads])):
        (a * a).backward()
        (a * b).backward()
    assert seen == [[2.0, None, 1.0]]
    seen.clear()
    with register_multi_grad_hook([a, b], lambda grad: seen.append(grad.item()), mode="any"):
        (a * 5).backward()
        (a * 6).backward()
    assert seen == [5.0, 6.0]


def test_a_function_keeps_what_it_saves_and_no_more():
    x = torch.ones(2, requires_grad=True)
    first = x * 2

    class Doubled(Function):
        @staticmethod
        def forward(ctx, x, factor):
            constant = x.detach() + 1
            ctx.mark_non_differentiable(constant)
            return x * factor, constant

        @staticmethod
        def backward(ctx, grad, _):
            return grad * 2, None

    result, constant = Doubled.apply(first, 2)
    last = result.sum()
    refs = [weakref.ref(tensor) for tensor in (first, result, constant)]
    del first, result, constant
    assert [ref() for ref in refs] == [None] * 3
    last.backward()
    assert x.grad.tolist() == [4.0, 4.0]
