"""A program of two or three ranks: every call of `distributed`, with what it must give."""

import datetime
import os
import shutil
import sys
import tempfile
import time

import opforge as torch
import opforge.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30), rank=int(os.environ.get("RANK", -1)))
rank, size = dist.get_rank(), dist.get_world_size()
everyone = range(size)


def expect(given, expected):
    expected = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=given.dtype)
    assert given.dtype == expected.dtype and given.shape == expected.shape and torch.equal(given, expected), (rank, given, expected)


def ones(value, *shape, dtype=torch.float32):
    return torch.full(shape, value, dtype=dtype)


def reductions():
    for dtype in torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8:
        for op, expected in ((dist.ReduceOp.SUM, size * (size + 1) // 2), (dist.ReduceOp.MAX, size), (dist.ReduceOp.MIN, 1)):
            x = ones(rank + 1, 3, 2, dtype=dtype)
            assert dist.all_reduce(x, op) is None
            expect(x, ones(expected, 3, 2, dtype=dtype))
    x = ones(rank + 1.0, 5000)
    dist.all_reduce(x, dist.ReduceOp.AVG)
    expect(x, ones((size + 1) / 2, 5000))
    z = torch.full([2], complex(1, rank))
    dist.all_reduce(z)
    expect(z, torch.full([2], complex(size, sum(everyone))))
    flags = torch.tensor([rank == 0, True])
    dist.all_reduce(flags, dist.ReduceOp.MIN)
    expect(flags, [False, True])
    x = ones(rank + 1.0, 4)
    dist.reduce(x, 1)
    expect(x, ones(size * (size + 1) / 2 if rank == 1 else rank + 1.0, 4))


def layouts_and_versions():
    base = torch.zeros(4, 6)
    base[:, ::2] = rank + 1
    view = base[:, ::2].t()
    version = base._version
    dist.all_reduce(view)
    assert base._version > version
    expect(base[:, ::2], ones(size * (size + 1) / 2, 4, 3))
    expect(base[:, 1::2], torch.zeros(4, 3))
    leaf = torch.ones(2, requires_grad=True)
    dist.all_reduce(leaf)
    expect(leaf.detach(), ones(size, 2))
    assert leaf.requires_grad and leaf.is_leaf
    y = (leaf * 2).exp()
    dist.broadcast(y, 0)
    try:
        y.sum().backward()
    except RuntimeError:
        pass
    else:
        assert rank == 0, "an output that was changed in place gave a gradient"


def gathers():
    parts = [torch.zeros(2, 2, dtype=torch.int64).t() for _ in everyone]
    dist.all_gather(parts, torch.tensor([[rank, 1], [2, 3]]))
    for k, part in enumerate(parts):
        expect(part, [[k, 1], [2, 3]])
    uneven = [torch.zeros(k + 1) for k in everyone]
    dist.all_gather(uneven, ones(float(rank), rank + 1))
    [expect(part, ones(float(k), k + 1)) for k, part in enumerate(uneven)]
    stacked, joined = torch.zeros(size, 2), torch.zeros(size * 2)
    for out in stacked, joined:
        dist.all_gather_into_tensor(out, ones(float(rank), 2))
        expect(out.reshape(size, 2), torch.arange(size).float()[:, None].expand(size, 2).contiguous())
    parts = [torch.zeros(3) for _ in everyone] if rank == 1 else None
    dist.gather(ones(float(rank), 3), parts, dst=1)
    [expect(part, ones(float(k), 3)) for k, part in enumerate(parts or [])]
    mine = torch.zeros(3)
    dist.scatter(mine, [ones(float(k), 3) for k in everyone] if rank == 1 else None, src=1)
    expect(mine, ones(float(rank), 3))


def scattered_reductions_and_exchanges():
    out, total = torch.zeros(2), float(sum(everyone))
    dist.reduce_scatter(out, [ones(float(rank + k), 2) for k in everyone])
    expect(out, ones(total + size * rank, 2))
    dist.reduce_scatter_tensor(out, torch.arange(2.0 * size).reshape(size, 2), op=dist.ReduceOp.MAX)
    expect(out, [2.0 * rank, 2.0 * rank + 1])
    outs = [torch.zeros(rank + 1) for _ in everyone]
    dist.all_to_all(outs, [ones(float(rank), k + 1) for k in everyone])
    [expect(part, ones(float(k), rank + 1)) for k, part in enumerate(outs)]
    out = torch.zeros(size, 2)
    dist.all_to_all_single(out, ones(float(rank), size, 2))
    expect(out[:, 0], torch.arange(float(size)))
    out = torch.zeros(size * (rank + 1))
    dist.all_to_all_single(out, ones(float(rank), sum(k + 1 for k in everyone)), [rank + 1] * size, [k + 1 for k in everyone])
    expect(out, torch.arange(float(size)).repeat_interleave(rank + 1))


def messages():
    right, left = (rank + 1) % size, (rank - 1) % size
    for count in 3, 4000:
        got = torch.zeros(count)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, ones(float(rank), count), right), dist.P2POp(dist.irecv, got, left)])
        [work.wait() for work in works]
        expect(got, ones(float(left), count))
    if rank == 0:
        dist.send(ones(7.0, 2), 1, tag=5)
    elif rank == 1:
        got = torch.zeros(2)
        assert dist.recv(got, 0, tag=5) == 0
        expect(got, ones(7.0, 2))


def asynchronous():
    # More than a call gathers at once, so that its steps interleave with those of others.
    tensors = [ones(float(k), 3000 + 400_000 * (k % 2)) for k in range(5)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    dropped = ones(1.0, 10)
    dist.all_reduce(dropped, async_op=True)
    for work in reversed(works) if rank % 2 else works:
        assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    [expect(x, ones(float(k * size), x.numel())) for k, x in enumerate(tensors)]


def on_their_own():
    """Calls go on while nobody waits for them or asks."""
    name = [None]
    if rank == 0:
        folder = tempfile.mkdtemp()
        name = [os.path.join(folder, "arrived")]
    dist.broadcast_object_list(name, 0)
    count = 1_000_000
    if rank == 0:
        work = dist.isend(ones(3.0, count), 1)
        gathered = dist.all_reduce(ones(1.0, count), async_op=True)
        until = time.monotonic() + 60
        while not all(os.path.exists(f"{name[0]}{k}") for k in range(1, size)):
            assert time.monotonic() < until, "a call stands still"
            time.sleep(0.01)
        work.wait()
        gathered.wait()
        shutil.rmtree(folder)
    else:
        got = torch.zeros(count)
        if rank == 1:
            dist.recv(got, 0)
            expect(got[-1:], [3.0])
        x = ones(1.0, count)
        future = dist.all_reduce(x, async_op=True).get_future()
        assert torch.equal(future.then(lambda future: future.value()[0] + 1).wait(), ones(size + 1.0, count)) and future.done()
        expect(x[:1], [float(size)])
        open(f"{name[0]}{rank}", "w").close()


def groups():
    first = dist.new_group([1, 0])
    last = dist.new_group([size - 1])
    if rank < 2:
        assert dist.get_process_group_ranks(first) == [0, 1] and first.size() == 2 and first.rank() == rank == dist.get_rank(first)
        x = ones(1.0, 3)
        dist.all_reduce(x, group=first)
        expect(x, ones(2.0, 3))
    else:
        assert first is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(first) == -1
    if rank == size - 1:
        assert dist.get_global_rank(last, 0) == rank and dist.get_group_rank(last, rank) == 0
        x = ones(1.0, 3)
        dist.broadcast(x, src=rank, group=last)
        dist.destroy_process_group(last)
    dist.barrier()
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=20))


def objects():
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank * 1000, "tensor": torch.arange(rank)})
    assert [item["rank"] for item in found] == list(everyone) and len(found[1]["text"]) == 1000 and found[1]["tensor"].tolist() == [0]
    found = [None] * size if rank == 0 else None
    dist.gather_object(("from", rank), found)
    assert rank or found == [("from", k) for k in everyone]
    items = [{"a": 1}, "text"] if rank == 1 else [None, None]
    dist.broadcast_object_list(items, src=1)
    assert items == [{"a": 1}, "text"]
    mine = [None]
    dist.scatter_object_list(mine, [[k] * (k + 1) for k in everyone] if rank == 0 else None, src=0)
    assert mine == [[rank] * (rank + 1)]


def wrong_arguments_before_anything_is_sent():
    def raises(kind, text, call, *args, **kwargs):
        try:
            call(*args, **kwargs)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"{call.__name__} took {args}")

    if rank == 0:
        raises(TypeError, "8-bit", dist.all_reduce, torch.ones(2).to(torch.float8_e4m3fn))
        raises(TypeError, "max of c64", dist.all_reduce, torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX)
        raises(TypeError, "AVG", dist.all_reduce, torch.ones(2, dtype=torch.int64), dist.ReduceOp.AVG)
        raises(NotImplementedError, "BAND", dist.all_reduce, torch.ones(2), dist.ReduceOp.BAND)
        raises(ValueError, "cpu", dist.all_reduce, torch.ones(2, device="meta"))
        raises(TypeError, "must be a Tensor", dist.all_reduce, [1.0])
        raises(ValueError, "tensors", dist.all_gather, [torch.zeros(2)] * (size + 1), torch.zeros(2))
        raises(TypeError, "float32", dist.all_gather, [torch.zeros(2, dtype=torch.float64)] * size, torch.zeros(2))
        raises(ValueError, "rank 9", dist.broadcast, torch.ones(2), 9)
        raises(ValueError, "root", dist.scatter, torch.ones(2), None, 0)
        raises(ValueError, "itself", dist.send, torch.ones(2), 0)
        raises(NotImplementedError, "any rank", dist.recv, torch.ones(2))
        raises(ValueError, "multiple", dist.all_to_all_single, torch.ones(2 * size), torch.ones(2 * size + 1))
        raises(ValueError, "distinct", dist.new_group, [0, 0])
    dist.barrier()


def again():
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None
    dist.init_process_group("gloo", world_size=size)
    x = torch.ones(1)
    dist.all_reduce(x)
    expect(x, [float(size)])


for check in (reductions, layouts_and_versions, gathers, scattered_reductions_and_exchanges, messages, asynchronous, on_their_own, groups, objects,
              wrong_arguments_before_anything_is_sent, again):  # fmt: skip
    check()
sys.stdout.write(f"rank {rank} of {size}: all is right\n")
