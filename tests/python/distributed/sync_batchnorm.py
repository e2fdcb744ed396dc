"""A program of any number of ranks: SyncBatchNorm of their parts is BatchNorm of the whole batch."""

import copy

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
CHANNELS = 3


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def trained_alike(lengths, rest, ranks=range(size), group=None, tolerance=1e-12, dtype=torch.float64, **options):
    """Two steps of training in parts of these lengths: outputs, running statistics and gradients are those of the whole batch."""
    if rank not in ranks:
        return
    place = list(ranks).index(rank)
    whole = nn.BatchNorm2d(CHANNELS, **options).to(dtype)
    whole._check_input_dim = lambda input: None
    for k, parameter in enumerate(whole.parameters()):
        parameter.data.copy_(drawn(CHANNELS, seed=k).to(dtype))
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(whole), group)
    for step in range(2):
        x = (drawn(sum(lengths), CHANNELS, *rest, seed=step) * 3 + 1000 * step).to(dtype).requires_grad_()
        factor = drawn(*x.shape, seed=step + 7).to(dtype)
        mine = x.detach().split(lengths)[place].requires_grad_()
        expected, given = whole(x), synced(mine)
        (expected * factor).sum().backward()
        (given * factor.split(lengths)[place]).sum().backward()
        assert given.dtype == dtype and torch.allclose(given, expected.split(lengths)[place], atol=tolerance, rtol=tolerance)
        assert torch.allclose(mine.grad, x.grad.split(lengths)[place], atol=tolerance, rtol=tolerance)
        x.grad = None
    for (name, a), (_, b) in zip(synced.named_buffers(), whole.named_buffers(), strict=True):
        assert torch.allclose(a, b, atol=tolerance, rtol=tolerance), name
    for a, b in zip(synced.parameters(), whole.parameters(), strict=True):
        total = a.grad.clone()
        dist.all_reduce(total, group=group)
        assert torch.allclose(total, b.grad, atol=tolerance * 1000, rtol=tolerance * 1000)


def parts_of_the_whole():
    """Parts of one length, of different ones, and an empty one; several shapes; options; a group of some ranks."""
    for lengths in [2] * size, [k + 1 for k in range(size)], [3 * (k != size - 1 or size == 1) for k in range(size)]:
        for rest in (), (4,), (2, 3):
            if sum(lengths) > 1:
                trained_alike(lengths, rest)
    trained_alike([2] * size, (4,), momentum=None)
    trained_alike([2] * size, (4,), affine=False)
    trained_alike([2] * size, (4,), bias=False)
    trained_alike([2] * size, (4,), track_running_stats=False)
    trained_alike([8] * size, (4,), dtype=torch.float32, tolerance=2e-4)
    some = list(range(0, size, 2))
    trained_alike([k + 2 for k in range(len(some))], (4,), some, dist.new_group(some))


def evaluation_is_each_ranks_own():
    """Outside of training, ranks make no calls: one may do without the others."""
    layer = nn.SyncBatchNorm(CHANNELS).eval()
    if rank == 0:
        assert torch.equal(layer(torch.ones(2, CHANNELS)), nn.BatchNorm1d(CHANNELS).eval()(torch.ones(2, CHANNELS)))


def halves():
    """Statistics are float32 of halves: outputs keep their dtype, parameters theirs."""
    layer = nn.SyncBatchNorm(CHANNELS)
    x = (drawn(4, CHANNELS, 5, seed=rank) + 100).to(torch.bfloat16).requires_grad_()
    y = layer(x)
    y.float().square().sum().backward()
    assert y.dtype == x.grad.dtype == torch.bfloat16 and layer.weight.grad.dtype == torch.float32 and y.float().mean().abs() < 1


def what_is_refused():
    """One value a channel on all ranks together, and second derivatives."""
    if size == 1:
        return
    layer = nn.SyncBatchNorm(CHANNELS)
    try:
        layer(torch.ones(int(rank == 0), CHANNELS))
    except ValueError as error:
        assert "more than 1 value per channel" in str(error)
    else:
        raise AssertionError("one value has a variance")
    x = torch.randn(2, CHANNELS, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    try:
        grad.sum().backward()
    except RuntimeError as error:
        assert "twice" in str(error)
    else:
        raise AssertionError("gradients of gradients were local")


def trains_with_data_parallel():
    """With DistributedDataParallel, whose buckets travel meanwhile, training is that of one process."""
    torch.manual_seed(3)
    one = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)).double()
    model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(one)), bucket_cap_mb=1e-4)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (one, model)]
    for step in range(3):
        x = drawn(3 * size, 4, seed=step)
        for m, part, optimizer in (one, x, optimizers[0]), (model, x.split([3] * size)[rank], optimizers[1]):
            optimizer.zero_grad()
            m(part).square().mean().backward()
            optimizer.step()
    for a, b in zip([*model.parameters(), *model.buffers()], [*one.parameters(), *one.buffers()], strict=True):
        assert torch.allclose(a, b, atol=1e-11)


for test in parts_of_the_whole, evaluation_is_each_ranks_own, halves, what_is_refused, trains_with_data_parallel:
    test()
print("all is right", flush=True)
