"""A program of any number of ranks: collective calls through which gradients flow, and objects sent from rank to rank."""

import opforge as torch
import opforge.distributed as dist
import opforge.distributed._functional_collectives as funcol
import opforge.distributed.nn.functional as F
from opforge.distributed.device_mesh import init_device_mesh

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
everyone = range(size)
LAST = size - 1


def input_of(k, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(k), dtype=torch.float64)


def weight_of(k, n, *shape):
    """What rank `k` multiplies its result number `n` with."""
    return input_of(1000 + 10 * k + n, *shape)


def agrees(call, reference, *shapes):
    """Results, gradients and second derivatives of a call on all ranks' inputs are those of a function of all inputs at once, which gives every rank's
    results. Losses are sums over all ranks, of squares, so that second derivatives are none of a linear function."""
    mine = [input_of(10 * rank + i, *shape).requires_grad_() for i, shape in enumerate(shapes)]
    inputs = [[input_of(10 * k + i, *shape).requires_grad_() for i, shape in enumerate(shapes)] for k in everyone]
    given, expected = as_tuple(call(*mine)), [as_tuple(results) for results in reference(inputs)]
    assert len(given) == len(expected[rank]) and all(map(torch.allclose, given, expected[rank])), (given, expected[rank])
    loss = sum((weight_of(rank, n, *y.shape) * y**2).sum() for n, y in enumerate(given))
    whole = sum((weight_of(k, n, *y.shape) * y**2).sum() for k in everyone for n, y in enumerate(expected[k]))
    first = torch.autograd.grad(loss, mine, create_graph=True)
    wanted = torch.autograd.grad(whole, [x for row in inputs for x in row], create_graph=True, materialize_grads=True)
    own = wanted[rank * len(shapes) : (rank + 1) * len(shapes)]
    assert all(map(torch.allclose, first, own)), (first, own)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), mine)
    wanted = torch.autograd.grad(sum((g**2).sum() for g in wanted), inputs[rank], materialize_grads=True)
    assert all(map(torch.allclose, second, wanted)), (second, wanted)


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def total(inputs, i=0):
    return sum(row[i] for row in inputs)


def reductions():
    agrees(lambda x: F.all_reduce(x), lambda inputs: [total(inputs)] * size, (2, 3))
    agrees(lambda x: F.all_reduce(x.t(), dist.ReduceOp.AVG), lambda inputs: [total(inputs).t() / size] * size, (2, 3))
    agrees(lambda x: F.broadcast(x, LAST), lambda inputs: [inputs[LAST][0]] * size, (2, 3))
    for op, by in (dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, size):
        agrees(lambda x: F.reduce(x, LAST, op), lambda inputs: [total(inputs) / by if k == LAST else inputs[k][0].detach() for k in everyone], (4,))
        lists = [(2, 1)] * size
        agrees(lambda *xs: F.reduce_scatter(torch.empty(2, 1).double(), list(xs), op), lambda inputs: [total(inputs, k) / by for k in everyone], *lists)
    uneven = [(k + 1,) for k in everyone]
    agrees(lambda *xs: F.reduce_scatter(torch.empty(rank + 1).double(), list(xs)), lambda inputs: [total(inputs, k) for k in everyone], *uneven)


def exchanges():
    agrees(lambda x: F.all_gather(x), lambda inputs: [tuple(row[0] for row in inputs)] * size, (2, 3))
    agrees(lambda x: F._all_gather_base(torch.empty(2 * size, 3).double(), x), lambda inputs: [torch.cat([row[0] for row in inputs])] * size, (2, 3))
    zeros = torch.zeros(2, 3).double()
    agrees(lambda x: F.gather(x, LAST), lambda inputs: [tuple(row[0] if k == LAST else zeros for row in inputs) for k in everyone], (2, 3))
    agrees(lambda *xs: F.scatter(list(xs), LAST), lambda inputs: [inputs[LAST][k] for k in everyone], *[(2, 3)] * size)
    shapes = [(2, 3)] * size
    outputs = [torch.empty(2, 3).double() for _ in everyone]
    agrees(lambda *xs: F.all_to_all(outputs, list(xs)), lambda inputs: [tuple(inputs[k][j] for k in everyone) for j in everyone], *shapes)
    sent = sum(k + 1 for k in everyone)
    output = torch.empty((rank + 1) * size, 2).double()
    split = [k + 1 for k in everyone]
    agrees(
        lambda x: F.all_to_all_single(output, x, [rank + 1] * size, split),
        lambda inputs: [torch.cat([row[0].split(split)[k] for row in inputs]) for k in everyone],
        (sent, 2),
    )
    filled = torch.zeros(2 * size)
    assert torch.equal(F.all_to_all_single(filled, torch.ones(2 * size)), filled) and filled.sum() == 2 * size


def functional():
    for group in dist.group.WORLD, dist.group.WORLD.group_name, list(everyone), init_device_mesh("cpu", (size,)), (init_device_mesh("cpu", (size, 1)), 0):
        agrees(lambda x: funcol.all_reduce(x, "sum", group), lambda inputs: [total(inputs)] * size, (2, 3))
    group = dist.group.WORLD
    agrees(lambda x: funcol.all_reduce(x, "avg", group), lambda inputs: [total(inputs) / size] * size, (2, 3))
    agrees(lambda x: funcol.broadcast(x, LAST, group), lambda inputs: [inputs[LAST][0]] * size, (2, 3))
    for dim in 0, 1, -1:
        agrees(lambda x: funcol.all_gather_tensor(x, dim, group), lambda inputs: [torch.cat([row[0] for row in inputs], dim)] * size, (2, 3))
        expected = lambda inputs: [total(inputs).tensor_split(size, dim)[k] for k in everyone]  # noqa: B023  used at once
        agrees(lambda x: funcol.reduce_scatter_tensor(x, "sum", dim, group), expected, (size, 2 * size))
    agrees(lambda x: funcol.all_to_all_single(x, None, None, group), lambda inputs: [torch.cat([r[0][k : k + 1] for r in inputs]) for k in everyone], (size, 2))
    turned = [(k + 1) % size for k in everyone]
    agrees(lambda x: funcol.permute_tensor(x, turned, group), lambda inputs: [inputs[(k - 1) % size][0] for k in everyone], (3, 2))
    both = funcol.all_reduce_coalesced([torch.ones(2), torch.ones(3, dtype=torch.int64)], "sum", group)
    assert [x.tolist() for x in both] == [[size] * 2, [size] * 3] and funcol.wait_tensor(both[0]) is both[0]
    assert funcol.all_gather_into_tensor_coalesced([torch.ones(2)], group)[0].shape == (2 * size,)
    assert funcol.reduce_scatter_tensor_coalesced([torch.ones(size)], "max", [0], group)[0].tolist() == [1]


def what_is_refused():
    x = torch.ones(2, requires_grad=True)
    y = F.all_reduce(x, dist.ReduceOp.MAX)
    assert y.tolist() == [1, 1]
    for call, error, text in (
        (lambda: y.sum().backward(), NotImplementedError, "MAX, expected SUM or AVG"),
        (lambda: funcol.all_reduce(x, "median", None), ValueError, "expected sum, avg"),
        (lambda: funcol.all_reduce(x, "sum", [7, 9]), ValueError, "default_pg"),
        (lambda: funcol.reduce_scatter_tensor(torch.tensor(1.0), "sum", 0, None), torch.ShapeError, "can share"),
        (lambda: funcol.permute_tensor(x, [0] * (size + 1), None), ValueError, "each rank"),
        (lambda: dist.send_object_list([], 0), ValueError, "at least one"),
    ):
        try:
            call()
        except error as raised:
            assert text in str(raised), raised
        else:
            raise AssertionError(text)


def objects():
    """Lists of objects go round; with `weights_only` as files of tensors."""
    if size == 1:
        return
    sent, weights = [{"from": rank}, "text", None], [torch.full((2,), rank), {"a": [1, rank]}]
    for weights_only, objects in (False, sent), (True, weights):
        got = [None] * len(objects)
        if rank % 2 == 0:
            dist.send_object_list(objects, (rank + 1) % size, weights_only=weights_only)
        source = dist.recv_object_list(got, (rank - 1) % size, weights_only=weights_only)
        if rank % 2:
            dist.send_object_list(objects, group_dst=(rank + 1) % size, weights_only=weights_only)
        assert source == (rank - 1) % size
        assert got == [{"from": source}, "text", None] if objects is sent else got[0].tolist() == [source] * 2 and got[1] == {"a": [1, source]}


for test in reductions, exchanges, functional, what_is_refused, objects:
    test()
print("all is right", flush=True)
