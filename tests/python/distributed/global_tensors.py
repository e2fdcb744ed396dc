"""Global tensors, as every rank of a program sees them."""

import copy
import pickle
import sys

import opforge as torch
import opforge.distributed as dist
from opforge import sbp

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
row = torch.placement("cpu", list(range(size)))
assert row == torch.placement.all("cpu") and row.shape == (size,) and str(row.device) == f"cpu{list(range(size))}"

whole = torch.arange(20.0).reshape(5, 4)
for how in [sbp.split(0), sbp.split(1), sbp.broadcast]:
    x = torch.arange(20.0, placement=row, sbp=sbp.broadcast).reshape(5, 4).to_global(sbp=how)
    assert x.is_global and not x.is_local and x.placement == row and x.sbp == (how,) and x.shape == (5, 4)
    assert torch.equal(x.to("cpu"), whole) and (x.numpy() == whole.numpy()).all() and x[3, 2].item() == 14 and x[1].tolist() == [4, 5, 6, 7]
    assert torch.equal((x @ x.t()).cpu(), whole @ whole.t()) and torch.allclose(x.softmax(0).cpu(), whole.softmax(0))
    x[1:3, ::2] = -1.0
    x[x < 0] = 7.0
    changed = whole.clone()
    changed[1:3, ::2] = 7.0
    assert torch.equal(x.cpu(), changed)
    assert "part of [5, 4] on cpu" in repr(x)

# Parts make a whole, and gradients come back to them.
part = torch.full((rank + 1, 2), float(rank), requires_grad=True)
joined = part.to_global(row, sbp.split(0))
assert joined.shape == (size * (size + 1) // 2, 2)
(joined * 3).sum().backward()
assert torch.equal(part.grad, torch.full((rank + 1, 2), 3.0))
assert torch.equal(torch.full((2,), rank + 1.0).to_global(row, sbp.partial_sum).cpu(), torch.full((2,), size * (size + 1) / 2))
assert joined.to_local().shape[0] == joined.to_global(sbp=sbp.split(0)).to_local().shape[0]

# Copies lie as the tensor does, and each process pickles what it has.
x = torch.arange(20.0, placement=row, sbp=sbp.broadcast).reshape(5, 4).to_global(sbp=sbp.split(0)).detach()
for copied in copy.copy(x), copy.deepcopy(x), copy.deepcopy(torch.nn.Parameter(x)).data:
    assert copied.sbp == (sbp.split(0),) and torch.equal(copied.cpu(), whole), copied
rows = x[1:3]
once, again = copy.deepcopy([x, rows])
again.zero_()
assert torch.equal(once[1:3].cpu(), torch.zeros(2, 4)) and torch.equal(x.cpu(), whole)
assert torch.equal(pickle.loads(pickle.dumps(x.to_local())), x.to_local())
try:
    pickle.dumps(x)
except torch.DeviceError as error:
    assert "to_local" in str(error), error
else:
    raise AssertionError("a pickle of parts that are elsewhere")

# Random numbers do not depend on how tensors lie.
draws = []
for how in [sbp.broadcast, sbp.split(0), sbp.split(1)]:
    torch.manual_seed(3)
    drawn = torch.randn(5, 3, placement=row, sbp=how)
    mask = torch.nn.functional.dropout(torch.ones(6, 5, placement=row, sbp=how), 0.4)
    draws.append((drawn.numpy().tolist(), mask.numpy().tolist()))
assert draws[0] == draws[1] == draws[2]
torch.manual_seed(3)
assert draws[0][0] == torch.randn(5, 3).tolist()

# Operators that users bring: whole, or in parts along the axes that they name.
SQUARE = """extern "C" int Square(int n, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  int64_t count = 1;
  for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];
  for (int64_t i = 0; i < count; ++i) ((float *)params[1])[i] = ((float *)params[0])[i] * ((float *)params[0])[i];
  return 0;
}"""
whole_square = torch.load_inline("#include <cstdint>\n" + SQUARE, "Square", shapes=0)
parted_square = torch.load_inline("#include <cstdint>\n" + SQUARE, "Square", shapes=0, axes="ab->ab")
x = torch.arange(20.0).reshape(5, 4).to_global(row, sbp.broadcast).to_global(sbp=sbp.split(0))
for square, lies in (whole_square, sbp.broadcast), (parted_square, sbp.split(0)):
    assert torch.equal(square(x).cpu(), whole * whole) and (size == 1 or square(x).sbp == (lies,)), square(x).sbp

# Parts on their way, and calls on local tensors between them, come in one order.
sums, works = [], []
for count in 1, 1000, 300_000, 2:
    sums.append(torch.ones(count).to_global(row, sbp.partial_sum).to_global(sbp=sbp.broadcast))
    works.append((torch.ones(count), dist.all_reduce(local := torch.ones(count), async_op=True), local))
for got, (ones, work, local) in zip(sums, works):
    work.wait()
    assert torch.equal(got.to_local(), ones * size) and torch.equal(local, ones * size)

# Modules.
torch.manual_seed(1)
layer = torch.nn.Linear(4, 3)
wanted = layer(whole)
layer.to_global(row, sbp.broadcast)
assert all(parameter.is_global and parameter.is_leaf for parameter in layer.parameters())
assert torch.allclose(layer(whole.to_global(row, sbp.broadcast).to_global(sbp=sbp.split(0))).cpu(), wanted)

for wrong, error, text in [
    (lambda: whole.to_global(), TypeError, "placement and sbp"),
    (lambda: whole.to_global(row, [sbp.broadcast] * 2), ValueError, "expected 1"),
    (lambda: whole.to_global(row, "Q"), ValueError, "expected S"),
    (lambda: whole.sbp, RuntimeError, "to_global"),
    (lambda: whole + joined, torch.DeviceError, "cpu"),
    (lambda: joined.to_global(sbp=sbp.split(5)), IndexError, "S"),
    (lambda: torch.placement("cuda", [0]), torch.DeviceError, "cuda"),
    (lambda: torch.placement("cpu", [0, 0]), ValueError, "once"),
    (lambda: torch.zeros(2, placement=row), TypeError, "together"),
    (lambda: torch.sin(whole, sbp=sbp.broadcast), TypeError, "unexpected"),
]:
    try:
        wrong()
    except error as caught:
        assert text in str(caught), (text, caught)
    else:
        raise AssertionError(f"no {error}: {text}")

dist.barrier()
print("all is right", file=sys.stdout)
dist.destroy_process_group()
