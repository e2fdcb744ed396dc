"""Processes that meet in all of PyTorch's ways, one after the other, and in ways that cannot work: its argument is a folder."""

import datetime
import os
import pathlib
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

FOLDER = pathlib.Path(sys.argv[1])
SOON = datetime.timedelta(seconds=2)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def check(rank, size):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, size, "gloo")
    x = torch.full([5000], rank + 1.0)
    dist.all_reduce(x)
    assert x.tolist() == [size * (size + 1) / 2] * 5000
    dist.destroy_process_group()


def meet(rank, size, port, other_port):
    for _ in range(2):
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
        check(rank, size)
        dist.init_process_group("cpu:gloo", init_method=f"file://{FOLDER / 'meeting'}", rank=rank, world_size=size)
        assert rank or not (FOLDER / "meeting").exists()
        check(rank, size)
    dist.init_process_group(init_method=f"tcp://localhost:{port}?rank={rank}&world_size={size}")
    check(rank, size)
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group()
    check(rank, size)
    store = dist.TCPStore("127.0.0.1", other_port, size, rank == 0, SOON * 10)
    for _ in range(2):
        dist.init_process_group("gloo", store=dist.PrefixStore("a", store), rank=rank, world_size=size)
        assert rank or not store.check(["a/opforge/rank 0"])
        check(rank, size)
    shared = dist.FileStore(str(FOLDER / "store"), size)
    dist.init_process_group("gloo", store=shared, rank=rank, world_size=size)
    dist.barrier()
    assert shared.add("count", 1) <= size
    check(rank, size)


def fail(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("no error")


def differ(rank, size, port, other_port):
    """Ranks that expect other numbers of ranks, or none."""
    begin = lambda world_size, **options: dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world_size, **options
    )
    text = fail(dist.DistError, lambda: begin(size + rank))
    assert "a world of 2 ranks" in text and "a world of 3 ranks" in text, text
    text = fail(dist.DistError, lambda: begin(size + 2, timeout=SOON))
    assert "for ranks 2, 3" in text, text


def leave(rank, size, port, other_port):
    """A rank that ends without a word, and one that says why."""
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    if rank == 1:
        raise FileNotFoundError("no such file: weights")
    begun = time.monotonic()
    text = fail(dist.DistError, dist.barrier)
    assert "FileNotFoundError: no such file: weights" in text and time.monotonic() - begun < 20, text
    sys.exit(3)


if __name__ == "__main__":
    ports = free_port(), free_port()
    mp.spawn(meet, args=(2, *ports), nprocs=2)
    mp.spawn(differ, args=(2, *ports), nprocs=2)
    assert not list(FOLDER.iterdir()), list(FOLDER.iterdir())
    try:
        mp.spawn(leave, args=(2, *ports), nprocs=2)
    except mp.ProcessRaisedException as error:
        assert error.error_index == 1 and "FileNotFoundError" in str(error), error
    else:
        raise AssertionError("no error")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        method = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        assert "this port" in fail(dist.DistNetworkError, lambda: dist.init_process_group("gloo", init_method=method, rank=0, world_size=2))
        begin = lambda: dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{ports[0]}", rank=1, world_size=2, timeout=SOON)
        assert "has not found rank 0" in fail(dist.DistNetworkError, begin)
    sys.stdout.write("all is right\n")
