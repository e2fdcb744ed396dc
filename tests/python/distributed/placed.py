"""Global draws, masks and lookups are those of one process, and neither made whole nor gathered."""

import opforge as torch
import opforge.distributed as dist
from opforge import nn, sbp
from opforge.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from opforge.distributed.tensor.parallel import loss_parallel

dist.init_process_group()
size = dist.get_world_size()
row = torch.placement.all()
split = [sbp.split(0), sbp.split(1), sbp.broadcast]


def drawn(make):
    torch.manual_seed(3)
    return [make().tolist() for _ in range(2)]


def draws(place, ones):
    yield lambda: torch.rand(9, 5, **place)
    yield lambda: torch.randn(9, 5, **place)
    yield lambda: torch.randint(0, 100, (9, 5), **place)
    yield lambda: torch.rand_like(ones)
    yield lambda: torch.bernoulli(0.5 * ones)
    yield lambda: torch.poisson(4 * ones)
    yield lambda: nn.functional.dropout(ones, 0.4)
    yield lambda: nn.functional.dropout2d(ones.reshape(9, 5, 1, 1), 0.4)
    yield lambda: ones.clone().normal_(1.0, 2.0)
    yield lambda: nn.init.trunc_normal_(ones.clone())


for how in split:
    place = {"placement": row, "sbp": how}
    pairs = zip(draws(place, torch.ones(9, 5, **place)), draws({}, torch.ones(9, 5)), strict=True)
    assert all(drawn(make) == drawn(alone) for make, alone in pairs), how

with torch.profiler.profile() as prof:
    x = torch.randn(60, 64, placement=row, sbp=sbp.split(0))
    assert nn.functional.dropout(x, 0.5).sbp == (sbp.split(0),)
part = 4 * 64 * len(range(60)[dist.get_rank() * 60 // size : (dist.get_rank() + 1) * 60 // size])
kernels = {event.name: event.nbytes for event in prof.events()}
assert kernels["randn"] == kernels["dropout"] == part, (kernels, part)


def trained(table, logits, ids):
    table.requires_grad_(), logits.requires_grad_()
    rows = nn.functional.embedding(ids, table)
    loss = nn.functional.cross_entropy(logits, ids, label_smoothing=0.1) + rows.square().mean()
    loss.backward()
    return rows, loss, table.grad, logits.grad


torch.manual_seed(7)
values, ids = [torch.randn(6000, 8).double(), torch.randn(6, 6000).double()], torch.tensor([0, 5999, 3000, 7, 7, 66])
mesh = init_device_mesh("cpu", (size,))
tensors = [distribute_tensor(values[0], mesh, [Shard(0)]), distribute_tensor(values[1], mesh, [Shard(1)])]
indices = ids.to_global(row, sbp.broadcast)
with torch.profiler.profile() as prof, loss_parallel():
    rows, loss, *grads = trained(*tensors, indices)
assert size == 1 or rows.sbp == (sbp.partial_sum,) and [grad.sbp for grad in grads] == [(sbp.split(0),), (sbp.split(1),)]
assert prof.events().communication().nbytes < values[0].nbytes / 4
wanted = trained(*values, ids)
assert all(torch.allclose(a.cpu(), b, atol=1e-12) for a, b in zip([rows, loss, *grads], wanted, strict=True))
print("all is right")
dist.destroy_process_group()
