"""`torch.distributed.tensor` over ranks: values and gradients of one process."""

import opforge as torch
from opforge import nn
from opforge.distributed import destroy_process_group, get_rank, get_world_size
from opforge.distributed.device_mesh import init_device_mesh
from opforge.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from opforge.distributed.tensor import full, ones, randn, zeros
from opforge.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

torch.distributed.init_process_group()
rank, size = get_rank(), get_world_size()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
assert mesh.size() == size and mesh.get_local_rank() == rank and mesh["tp"] == mesh and mesh.get_group("tp").size() == size
assert mesh.get_coordinate() == [rank] and mesh.mesh.tolist() == list(range(size)) and mesh.ndim == 1

# What others get wrong: lengths that do not divide, reshapes and views of sharded dimensions, in place too.
torch.manual_seed(0)
whole = torch.randn(7, 6, requires_grad=True)
for placement in [Shard(0), Shard(1), Shard(-1), Replicate()]:
    x = distribute_tensor(whole, mesh, [placement])
    assert isinstance(x, DTensor) and isinstance(x, torch.Tensor) and not isinstance(whole, DTensor) and x.is_leaf and x.requires_grad
    assert x.placements == (Shard(1) if placement == Shard(-1) else placement,) and x.device_mesh == mesh
    for f in [
        lambda x: x.reshape(3, 14) * 2,
        lambda x: x.view(42)[5:31:3].exp(),
        lambda x: x.t().flatten().reshape(2, 21).cumsum(1),
        lambda x: torch.cat([x, x * 2], 0).unflatten(0, (2, 7)),
        lambda x: x.unfold(0, 3, 2).sum(-1),
        lambda x: (x @ x.t()).softmax(1)[1:, :4],
        lambda x: x.sort(0).values.roll(2, 0).narrow(0, 2, 4),
        lambda x: x.clone().fill_diagonal_(3.0).expand(2, 7, 6),
        lambda x: nn.functional.layer_norm(x, (6,)).index_select(0, torch.tensor([6, 0, 6]).to(x.device)),
        lambda x: x.var(0) + x.std(1).max() + x.norm() + x.argmax(0),
    ]:
        wanted, got = f(whole), f(x)
        assert got.shape == wanted.shape and torch.allclose(got.full_tensor(), wanted, atol=1e-5), (placement, wanted, got)
        (one,) = torch.autograd.grad(wanted.sum(), whole)
        (other,) = torch.autograd.grad(got.sum(), x)
        assert torch.allclose(other.full_tensor(), one, atol=1e-4), (placement, one, other.full_tensor())

moved = distribute_tensor(whole.detach(), mesh, [Shard(0)]).redistribute(placements=[Shard(1)])
assert moved.placements == (Shard(1),) and torch.equal(moved.full_tensor(), whole) and moved.to_local().shape[0] == 7
parts = DTensor.from_local(torch.full((rank, 2), float(rank)), mesh, [Shard(0)])
assert parts.shape == (size * (size - 1) // 2, 2) and torch.equal(DTensor.from_local(torch.ones(2), mesh, [Partial()]).full_tensor(), torch.full((2,), float(size)))
assert zeros(3, 2, device_mesh=mesh, placements=[Shard(0)]).full_tensor().sum() == 0 and ones((4,), device_mesh=mesh).sum().item() == 4
assert full((2, 2), 3.0, device_mesh=mesh, placements=[Shard(1)]).full_tensor().tolist() == [[3, 3], [3, 3]]
torch.manual_seed(4)
drawn = randn(5, device_mesh=mesh, placements=[Shard(0)], requires_grad=True)
torch.manual_seed(4)
assert drawn.is_leaf and torch.equal(drawn.full_tensor(), torch.randn(5))
assert not hasattr(whole, "placements") and not hasattr(whole, "device_mesh")

# What was reported of PyTorch's (github.com/pytorch/pytorch/issues/NUMBER), with the shapes of the reports.
REPORTED = [
    (179502, (12, 8), Shard(1), lambda x: x.view(-1, 6)),
    (143372, (6, 256), Shard(0), lambda x: x.view(-1)),
    (162692, (3, 4), Shard(0), torch.mean),
    (162692, (1, 4), Shard(0), torch.mean),
    (163193, (10, 1), Shard(0), lambda x: x.sum() + 10),
    (153603, (3,), Shard(0), lambda x: torch.stack([x.mean() * i for i in range(1, 4)])),
    (147180, (9, 8), Shard(0), lambda x: x.sum(0) * -5 + x.sum(0) * 2),
    (147570, (9, 8), Shard(0), lambda x: x.clone().view(72)[2:7].zero_()),
]
for number, shape, placement, f in REPORTED:
    local = torch.randn(shape)
    got, wanted = f(distribute_tensor(local, mesh, [placement])), f(local)
    assert got.shape == wanted.shape and torch.allclose(got.full_tensor(), wanted, atol=1e-5), (number, got, wanted)
changed = distribute_tensor(torch.ones(9, 8), mesh, [Shard(0)])
changed.view(72)[2:7] = 0.0  # 147570: through a view
assert changed.full_tensor().sum() == 72 - 5
ragged = DTensor.from_local(torch.full((2, 2 + rank), float(rank)), mesh, [Shard(1)])  # 144109: parts that are not balanced
assert torch.equal(ragged.full_tensor(), torch.cat([torch.full((2, 2 + one), float(one)) for one in range(size)], 1))
uneven = distribute_tensor(torch.arange(50.0).reshape(5, 10), mesh, [Shard(0)])  # 103306: of 5 rows on 4 ranks
assert uneven.redistribute(placements=[Replicate()]).to_local().shape == (5, 10)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(9, 8), nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 10), nn.Linear(10, 8)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(self.norm(self.words(x)))))


plans = [
    {"words": RowwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()},
    {"words": ColwiseParallel(output_layouts=Replicate()), "up": ColwiseParallel(use_local_output=False), "down": RowwiseParallel()},
    {
        "words": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
        "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
        "": PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()),
    },
]
ids = torch.tensor([[1, 5, 2], [8, 0, 5]])
torch.manual_seed(1)
alone = Block()
wanted = alone(ids)
wanted.square().sum().backward()
for plan in plans:
    torch.manual_seed(1)
    model = parallelize_module(Block(), mesh, plan)
    assert isinstance(model.up.weight, DTensor) and model.up.weight.placements == (Shard(0),)
    got = model(ids)
    got.square().sum().backward()
    assert not isinstance(got, DTensor) and torch.allclose(got, wanted, atol=1e-5)
    for (name, one), other in zip(alone.named_parameters(), model.parameters()):
        grad = other.grad.full_tensor() if isinstance(other.grad, DTensor) else other.grad
        assert torch.allclose(grad, one.grad, atol=1e-4), (name, grad, one.grad)

linear = distribute_module(nn.Linear(3, 2), mesh)
assert isinstance(linear.bias, DTensor) and linear(ones(4, 3, device_mesh=mesh, placements=[Shard(0)])).placements == (Shard(0),)
prepared = parallelize_module(nn.Linear(3, 2), mesh, PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Replicate(), use_local_output=True))
assert prepared(torch.ones(1, 3)).shape == (1, 2)

if size == 4:
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert grid["tp"].mesh.tolist() == [rank // 2 * 2, rank // 2 * 2 + 1] and grid.get_local_rank("dp") == rank // 2
    both = distribute_tensor(whole, grid, [Shard(0), Shard(1)])
    assert torch.allclose((both @ both.t()).full_tensor(), whole @ whole.t(), atol=1e-5)
    row = distribute_tensor(whole.detach() + rank // 2, grid["tp"], [Shard(0)])
    assert torch.equal(row.full_tensor(), whole + rank // 2)

for wrong, error in [
    (lambda: distribute_tensor(whole, mesh, [Shard(2)]), IndexError),
    (lambda: distribute_tensor(whole, mesh, [Shard(0)] * 2), ValueError),
    (lambda: distribute_tensor(whole, mesh, ["S"]), TypeError),
    (lambda: whole.full_tensor(), AttributeError),
    (lambda: init_device_mesh("cpu", (size + 1,)), ValueError),
    (lambda: Partial("avg"), NotImplementedError),
    (lambda: parallelize_module(Block(), mesh, {"norm": ColwiseParallel()}), NotImplementedError),
]:
    try:
        wrong()
    except error:
        pass
    else:
        raise AssertionError(f"no {error}")
torch.distributed.barrier()
print("all is right")
destroy_process_group()
