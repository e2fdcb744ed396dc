"""PyTorch's tutorial "Writing distributed applications": its arguments are a port, a way to start processes and how many."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def blocking(rank, size):
    tensor = torch.zeros(1)
    if rank == 0:
        tensor += 1
        dist.send(tensor=tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor=tensor, src=0)
    assert tensor[0] == (rank < 2)


def non_blocking(rank, size):
    tensor, req = torch.zeros(1), None
    if rank == 0:
        tensor += 1
        req = dist.isend(tensor=tensor, dst=1)
    elif rank == 1:
        req = dist.irecv(tensor=tensor, src=0)
    if req is not None:
        req.wait()
    assert tensor[0] == (rank < 2)


def collectives(rank, size):
    group = dist.new_group([0, 1])
    tensor = torch.ones(1)
    if rank < 2:
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM, group=group)
        assert tensor[0] == 2
    mine = torch.zeros(3)
    dist.scatter(mine, [torch.full([3], float(k)) for k in range(size)] if rank == 0 else None, src=0)
    parts = [torch.zeros(3) for _ in range(size)] if rank == 0 else None
    dist.gather(mine * 2, parts, dst=0)
    assert rank or [part[0].item() for part in parts] == [2.0 * k for k in range(size)]


def allreduce(send, recv):
    """The tutorial's ring."""
    rank, size = dist.get_rank(), dist.get_world_size()
    send_buff, recv_buff, accum = send.clone(), send.clone(), send.clone()
    left, right = (rank - 1 + size) % size, (rank + 1) % size
    for i in range(size - 1):
        if i % 2 == 0:
            send_req = dist.isend(send_buff, right)
            dist.recv(recv_buff, left)
            accum[:] += recv_buff[:]
        else:
            send_req = dist.isend(recv_buff, right)
            dist.recv(send_buff, left)
            accum[:] += send_buff[:]
        send_req.wait()
    recv[:] = accum[:]


def run(rank, size):
    blocking(rank, size)
    non_blocking(rank, size)
    collectives(rank, size)
    total = torch.zeros(2, 2)
    allreduce(torch.full([2, 2], rank + 1.0), total)
    assert total[0, 0] == size * (size + 1) / 2
    sys.stdout.write(f"Rank {rank} has data {total[0, 0].item()} by {dist.get_backend()}\n")


def init_process(rank, size, fn, backend="gloo"):
    """Initialize the distributed environment."""
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = sys.argv[1]
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)


if __name__ == "__main__":
    world_size = int(sys.argv[3])
    processes = []
    mp.set_start_method(sys.argv[2])
    for rank in range(world_size):
        p = mp.Process(target=init_process, args=(rank, world_size, run))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    sys.exit(any(p.exitcode for p in processes))
