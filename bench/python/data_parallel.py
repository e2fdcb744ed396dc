"""A data-parallel step of a multilayer perceptron over processes, and how much of its communication backward hides.

`opforge run -n 2 bench/python/data_parallel.py` (`pip install mpich`). A step's gradients are averaged in buckets while backward goes on. "alone" is what
the same calls take when nothing else runs; "exposed" is how long backward waits for them at its end, for other ranks too; the rest is hidden. All figures are
lower quartiles: other programs on the machine, and ranks that are late, weigh little. `--small` only shows that the program runs.
"""

import statistics
import sys
import time

import opforge as torch
import opforge.distributed as dist
from opforge.distributed.algorithms.ddp_comm_hooks import default_hooks
from opforge.nn.parallel import DistributedDataParallel

IS_SMALL = "--small" in sys.argv
BATCH, SIZES, ROUNDS, MEGABYTES = (8, (16, 32, 10), 5, 0.001) if IS_SMALL else (256, (784, 2048, 2048, 10), 40, 8)


def network():
    layers = [layer for sizes in zip(SIZES, SIZES[1:]) for layer in (torch.nn.Linear(*sizes), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers[:-1])


def timed(call):
    begun = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begun)


def quartile(times):
    return statistics.quantiles(times, n=4)[0]


class Measured:
    """A communication hook that notes the sizes of its vectors, and how long its futures are waited for."""

    def __init__(self, hook):
        self.hook, self.sizes, self.waited = hook, {}, 0.0

    def __call__(self, state, bucket):
        self.sizes[bucket.index()] = bucket.buffer().numel()
        future = self.hook(state, bucket)
        return Waited(self, future)


class Waited:
    """A future whose wait is timed; what follows it is not."""

    def __init__(self, measured, future):
        self.measured, self.future = measured, future

    def wait(self):
        begun = time.perf_counter()
        result = self.future.wait()
        self.measured.waited += 1e3 * (time.perf_counter() - begun)
        return result

    def value(self):
        return self.future.value()

    def then(self, callback):
        return Followed(self, callback)


class Followed:
    def __init__(self, future, callback):
        self.future, self.callback = future, callback

    def wait(self):
        self.future.wait()
        return self.callback(self.future)


def loss_of(model, x, labels):
    return torch.nn.functional.cross_entropy(model(x), labels)


def backward_times(model, x, labels, measured=None):
    """Lower quartiles of a backward and of what it waited for."""
    times, waits = [], []
    for _ in range(ROUNDS + 3):
        model.zero_grad()
        loss = loss_of(model, x, labels)
        loss.item()
        dist.barrier()
        if measured is not None:
            measured.waited = 0.0
        times.append(timed(lambda: (loss.backward(), [parameter.grad[..., 0].sum().item() for parameter in model.parameters()])))
        waits.append(measured.waited if measured is not None else 0.0)
    return quartile(times[3:]), quartile(waits[3:])


def main():
    dist.init_process_group()
    torch.set_num_threads(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    x, labels = torch.randn(BATCH, SIZES[0]), torch.randint(0, SIZES[-1], (BATCH,))
    alone, _ = backward_times(network(), x, labels)
    lines = [f"{size} ranks, one thread each; batch {BATCH} a rank; layers {SIZES}; buckets of {MEGABYTES} MiB; milliseconds, lower quartiles of {ROUNDS}"]
    lines.append(f"backward of one rank's model, without averaging: {alone:.1f}")
    for name, wrapped in (("float32", lambda hook: hook), ("bfloat16", default_hooks.bf16_compress_wrapper)):
        model = DistributedDataParallel(network(), bucket_cap_mb=MEGABYTES)
        measured = Measured(default_hooks.allreduce_hook)
        model.register_comm_hook(None, wrapped(measured))
        whole, exposed = backward_times(model, x, labels, measured)
        dtype = torch.float32 if name == "float32" else torch.bfloat16
        vectors = [torch.zeros(count, dtype=dtype) for count in measured.sizes.values()]
        dist.barrier()
        calls = quartile([timed(lambda vectors=vectors: [dist.all_reduce(vector) for vector in vectors]) for _ in range(ROUNDS)])
        hidden = 100 * (1 - exposed / calls)
        waited = f"calls alone {calls:.1f}, exposed {exposed:.1f}: {hidden:.0f} % hidden"
        lines.append(f"{name} on the wire, {len(vectors)} buckets: backward with averaging {whole:.1f}; {waited}")
    if rank == 0:
        print("\n".join(lines))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
