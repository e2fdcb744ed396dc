"""A program of any number of ranks: training by all of them is that of one process on the whole data."""

import copy
import gc
import warnings

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.distributed.algorithms.ddp_comm_hooks import default_hooks
from opforge.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
SMALL = 1e-4  # MiB: buckets of one parameter or two


def network():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def data(step, rows):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(rows, 5, generator=generator).double(), torch.randint(0, 3, (rows,), generator=generator)


def loss_of(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def parts(batch, lengths):
    return list(zip(*(tensor.split(lengths) for tensor in batch)))


def close(a, b, tolerance=1e-12):
    return all(torch.allclose(x, y, atol=tolerance, rtol=tolerance) for x, y in zip(a, b, strict=True))


def grads(model):
    return [parameter.grad for parameter in model.parameters()]


def same_everywhere(tensors):
    everywhere = [None] * size
    dist.all_gather_object(everywhere, [tensor.detach() for tensor in tensors])
    return all(torch.equal(a, b) for other in everywhere for a, b in zip(everywhere[0], other))


def trained(model, batches, mine=lambda batch: batch):
    """The losses of a training with all that usually goes with one."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    losses, norms = [], []
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(model, mine(batch))
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    return torch.stack(losses), norms


def equals_one_process():
    """Losses, norms of gradients and parameters are those of one process on the whole batches, for any size of buckets."""
    batches = [data(step, 12) for step in range(5)]
    one = network()
    expected, norms = trained(one, batches)
    kinds = {}, dict(bucket_cap_mb=SMALL), dict(bucket_cap_mb=SMALL, gradient_as_bucket_view=True), dict(static_graph=True), dict(find_unused_parameters=True)
    for options in kinds:
        model = DDP(network(), **options)
        losses, given = trained(model, batches, lambda batch: parts(batch, [12 // size] * size)[rank])
        dist.all_reduce(losses, dist.ReduceOp.AVG)
        assert torch.allclose(losses, expected, atol=1e-12), (options, losses, expected)
        assert torch.allclose(torch.tensor(given), torch.tensor(norms), atol=1e-12), (options, given, norms)
        assert close(model.parameters(), one.parameters()) and same_everywhere(model.parameters())


def uneven_batches_weigh_alike():
    """Ranks weigh alike, whatever the sizes of their batches: gradients are those of the average of the ranks' mean losses."""
    lengths = [k + 1 for k in range(size)]
    batch = data(1, sum(lengths))
    one, model = network(), DDP(network(), bucket_cap_mb=SMALL)
    torch.stack([loss_of(one, part) for part in parts(batch, lengths)]).mean().backward()
    loss_of(model, parts(batch, lengths)[rank]).backward()
    assert close(grads(model), grads(one))


def begins_with_rank_0():
    """Parameters and buffers are those of rank 0 at the beginning; buffers in each forward, unless told otherwise."""
    torch.manual_seed(rank)
    module = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4))
    module[1].running_mean.fill_(float(rank))
    module[1].register_buffer("flags", torch.tensor([rank, 7]))
    for model in DDP(module), DDP(copy.deepcopy(module), broadcast_buffers=False):
        assert same_everywhere(model.parameters()) and model.module[1].running_mean.tolist() == [0.0] * 4 and model.module[1].flags.tolist() == [0, 7]
        for step in range(2):
            model(data(step, 6)[0].float() + rank).sum().backward()
        if size > 1:
            assert not same_everywhere([model.module[1].running_mean])
        model(data(3, 6)[0].float()).sum().backward()
        same = same_everywhere([model.module[1].running_mean])
        assert same == (model.broadcast_buffers or size == 1)
    assert list(model.state_dict())[:2] == ["module.0.weight", "module.0.bias"]
    torch.manual_seed(rank)
    apart = DDP(nn.Linear(2, 2), init_sync=False)
    assert size == 1 or not same_everywhere(apart.parameters())


def accumulates_without_sync():
    """Within no_sync gradients are added up by each rank; the next backward averages the sums."""
    batch = data(2, 3 * size)
    one, model = network(), DDP(network(), bucket_cap_mb=SMALL)
    mine = parts(batch, [3] * size)[rank]
    with model.no_sync():
        loss_of(model, mine).backward()
    alone = network()
    loss_of(alone, mine).backward()
    assert close(grads(model), grads(alone))
    loss_of(model, mine).backward()
    (2 * loss_of(one, batch)).backward()
    assert close(grads(model), grads(one)) and model.require_backward_grad_sync
    # A backward that follows adds to averages.
    loss_of(model, mine).backward()
    loss_of(one, batch).backward()
    assert close(grads(model), grads(one))


def several_forwards():
    """Several forwards before one backward, forwards in turns with backwards, a parameter used twice, keyword arguments, a graph used twice."""
    batch = data(3, 4 * size)
    mine = parts(batch, [4] * size)[rank]
    one, model = network(), DDP(network(), bucket_cap_mb=SMALL)
    (loss_of(model, mine) + 2 * loss_of(model, (mine[0].sin(), mine[1]))).backward()
    (loss_of(one, batch) + 2 * loss_of(one, (batch[0].sin(), batch[1]))).backward()
    assert close(grads(model), grads(one))
    first, second = loss_of(model, mine), loss_of(model, mine)
    first.backward(retain_graph=True)
    second.backward()
    first.backward()
    (3 * loss_of(one, batch)).backward()
    assert close(grads(model), grads(one))

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.again = nn.Linear(5, 5), nn.ModuleList([nn.Linear(5, 5)])
            self.again[0].weight = self.inner.weight

        def forward(self, x, *, times=1, extra=None):
            return (self.again[0](self.inner(x).tanh()) * times + extra["bias"]).pow(2).mean()

    torch.manual_seed(1)
    one = Twice().double()
    model = DDP(copy.deepcopy(one), bucket_cap_mb=SMALL)
    model(mine[0], times=3, extra={"bias": 1}).backward()
    one(batch[0], times=3, extra={"bias": 1}).backward()
    assert close(grads(model), grads(one)) and len(grads(one)) == 3


def checkpoints_and_frozen_parameters():
    """Modules that are computed again in backward, also with a parameter in several of them; frozen parameters are shared and stay without gradients."""
    from opforge.utils.checkpoint import checkpoint

    class Again(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 3)

        def forward(self, x):
            for _ in range(2):
                x = checkpoint(lambda x: self.first(x).tanh(), x, use_reentrant=True)
            return checkpoint(self.second, x, use_reentrant=False)

    torch.manual_seed(2)
    one = Again().double()
    model = DDP(copy.deepcopy(one), bucket_cap_mb=SMALL)
    batch = data(4, 2 * size)
    loss_of(one, batch).backward()
    loss_of(model, parts(batch, [2] * size)[rank]).backward()
    assert close(grads(model), grads(one))
    torch.manual_seed(rank)
    frozen = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3)).double()
    frozen[0].requires_grad_(False)
    model = DDP(frozen)
    assert same_everywhere(frozen.parameters())
    loss_of(model, batch).backward()
    assert frozen[0].weight.grad is None and frozen[1].weight.grad is not None


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.always, self.sometimes, self.never = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, both):
        return (self.always(x) + (self.sometimes(x) if both else 0)).pow(2).mean()


def unused_parameters():
    """What has no gradient on some ranks counts as zeros; what has none on any keeps its own, from before."""
    torch.manual_seed(3)
    one = Branches().double()
    x = torch.randn(size, 2, 3).double()
    for options in dict(find_unused_parameters=True), dict(static_graph=True):
        model = DDP(copy.deepcopy(one), bucket_cap_mb=SMALL, **options)
        for _ in range(2):
            model.zero_grad()
            model(x[rank], rank == 0).backward()
            reference = copy.deepcopy(one)
            (sum(reference(part, k == 0) for k, part in enumerate(x)) / size).backward()
            assert model.module.never.weight.grad is None
            assert close(grads(model)[:4], grads(reference)[:4])
        model.zero_grad()
        model.module.never.weight.grad = torch.ones(3, 3).double()
        model(x[rank], False).backward()
        assert model.module.never.weight.grad.tolist() == torch.ones(3, 3).tolist() and model.module.sometimes.weight.grad is None
    model = DDP(copy.deepcopy(one), find_unused_parameters=True)
    with model.no_sync():
        model(x[rank], True).backward()
    model(x[rank], False).backward()
    reference = copy.deepcopy(one)
    (sum(reference(part, True) + reference(part, False) for part in x) / size).backward()
    assert close(grads(model)[:4], grads(reference)[:4])


def hooks():
    """Communication hooks: as without, at half the bytes, a user's own."""
    batch = data(5, 2 * size)
    mine = parts(batch, [2] * size)[rank]
    one = network().float()
    loss_of(one, (batch[0].float(), batch[1])).backward()
    seen = []

    def own(state, bucket):
        assert bucket.buffer().numel() == sum(g.numel() for g in bucket.gradients()) == sum(p.numel() for p in bucket.parameters())
        seen.append((state, bucket.index(), bucket.is_last()))
        work = dist.all_reduce(bucket.buffer().div_(size), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    wrapped = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)
    exact = [default_hooks.allreduce_hook, own]
    rounded = [default_hooks.bf16_compress_hook, wrapped, default_hooks.fp16_compress_hook, default_hooks.fp16_compress_wrapper(own)]
    for hook in exact + rounded:
        model = DDP(network().float(), bucket_cap_mb=1e-3)
        model.register_comm_hook(None if hook is not own else "state", hook)
        for _ in range(2):
            model.zero_grad()
            loss_of(model, (mine[0].float(), mine[1])).backward()
        is_close = close(grads(model), grads(one), 1e-6)
        assert close(grads(model), grads(one), 2e-2) and is_close == (hook in exact) and same_everywhere(grads(model)), hook
    buckets = len(model.reducer.buckets)
    assert buckets > 1 and seen[: 2 * buckets] == [("state", k % buckets, k % buckets == buckets - 1) for k in range(2 * buckets)]


def begins_in_backward():
    """The first bucket's call begins before the gradients of the first layer are there."""
    model = DDP(network(), bucket_cap_mb=SMALL)
    events = []

    def hook(state, bucket):
        events.append(bucket.index())
        return default_hooks.allreduce_hook(None, bucket)

    model.register_comm_hook(None, hook)
    output = model.module[0].register_full_backward_pre_hook(lambda *_: events.append("first layer"))
    loss_of(model, data(6, 2)).backward()
    output.remove()
    assert 0 < events.index("first layer") < len(events) - 1 and events[0] == 0, events


def joins():
    """Ranks with fewer batches take part in the calls of the others, with zeros."""
    batches = [[data(10 * k + step, 2) for step in range(1 + k)] for k in range(size)]
    for by_all in True, False:
        one, model = network(), DDP(nn.Sequential(network(), nn.BatchNorm1d(3).double()), bucket_cap_mb=SMALL)
        norm = nn.BatchNorm1d(3).double()
        one = nn.Sequential(one, norm)
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (one, model)]
        with model.join(divide_by_initial_world_size=by_all):
            for batch in batches[rank]:
                optimizers[1].zero_grad()
                loss_of(model, batch).backward()
                optimizers[1].step()
        for step in range(size):
            active = [each[step] for each in batches if step < len(each)]
            optimizers[0].zero_grad()
            (sum(loss_of(one, batch) for batch in active) / (size if by_all else len(active))).backward()
            optimizers[0].step()
        assert close(model.parameters(), one.parameters(), 1e-10) and same_everywhere([*model.parameters(), *model.buffers()])
    if size > 1:
        try:
            with model.join(throw_on_early_termination=True):
                for batch in batches[rank]:
                    loss_of(model, batch).backward()
        except RuntimeError as error:
            assert "have no more inputs" in str(error)
        else:
            raise AssertionError("no rank was told that another has no more inputs")


def samplers_split_an_epoch():
    """The samplers of all ranks together give every sample of an epoch, in the same order for the same seed."""
    sampler = torch.utils.data.DistributedSampler(range(11), seed=3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        order = [None] * size
        dist.all_gather_object(order, list(sampler))
        together = [order[k % size][k // size] for k in range(len(order[0]) * size)]
        assert sorted(set(together)) == list(range(11)) and together[11:] == together[: len(together) - 11]


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return data(0, 12)[0][i] * i


def reads_in_workers():
    """Processes that a rank forks while it trains are no ranks."""
    one, model = network(), DDP(network(), bucket_cap_mb=SMALL)
    loader = torch.utils.data.DataLoader(Rows(), batch_size=2, sampler=torch.utils.data.DistributedSampler(Rows(), shuffle=False), num_workers=2)
    for _ in range(2):
        for x in loader:
            (model(x).pow(2).sum() * size).backward()
    for i in range(12):
        (2 * one(Rows()[i]).pow(2).sum()).backward()
    assert close(grads(model), grads(one))


def converts():
    """A wrapped module may be converted, which gives its parameters other data: PyTorch keeps averaging, too."""
    batch = data(9, 2 * size)
    one, model = network().float(), DDP(network())
    model.float()
    loss_of(one, (batch[0].float(), batch[1])).backward()
    loss_of(model, [part.float() if part.is_floating_point() else part for part in parts(batch, [2] * size)[rank]]).backward()
    assert close(grads(model), grads(one), 1e-6) and model.module[0].weight.grad.dtype == torch.float32


def compiled():
    """The module may be a graph; what exchanges gradients is none."""
    batch = data(8, 2 * size)
    mine = parts(batch, [2] * size)[rank]
    one = network()
    (2 * loss_of(one, batch)).backward()
    for make in (lambda: DDP(torch.compile(network()), bucket_cap_mb=SMALL), lambda: torch.compile(DDP(network()))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = make()
            for _ in range(2):
                loss_of(model, mine).backward()
        assert close(grads(model), grads(one)) and bool(caught) == (type(model) is not DDP)


def goes_away():
    """Models that are gone leave no hooks that do anything."""
    module = network()
    model = DDP(module)
    del model
    gc.collect()
    if rank == 0:
        loss_of(module, data(0, 2)).backward()


for test in (
    equals_one_process, uneven_batches_weigh_alike, begins_with_rank_0, accumulates_without_sync, several_forwards, checkpoints_and_frozen_parameters,
    unused_parameters, hooks, begins_in_backward, joins, samplers_split_an_epoch, reads_in_workers, converts, compiled, goes_away,
):  # fmt: skip
    test()
print("all is right", flush=True)
