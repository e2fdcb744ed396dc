"""Four processes learn the digits together, in five ways: the program of `opforge run -n 4 demo/ranks.py FILE`, which writes what was measured.

Four times the training loop is that of one process, and only how the batches and weights lie on the ranks differs. The fifth is PyTorch's way. Numbers are of
64 bits, so that what is wrong does not pass for rounding.
"""

import json
import pathlib
import sys

import opforge as torch
import opforge.distributed as dist
from cnn import DigitNet, load
from opforge import nn, sbp
from opforge.nn.parallel import DistributedDataParallel
from opforge.profiler import profile, record_function
from opforge.utils.data import DataLoader

BATCH, STEPS, WARM_UP = 64, 12, 3
# The first convolution makes a part of the channels on each rank, the second takes them, and ranks add up what they have of its results.
CHANNELS = {
    "features.0.weight": 0, "features.1.weight": 0, "features.1.bias": 0, "features.1.running_mean": 0, "features.1.running_var": 0,
    "features.3.weight": 1, "head.2.weight": 1,
}  # fmt: skip


def ways():
    """Names, the ranks' mesh, how batches lie on it, and how weights do that are not on all ranks."""
    row, mesh = torch.placement.all("cpu"), torch.placement("cpu", [[0, 1], [2, 3]])
    split, broadcast = sbp.split(0), sbp.broadcast
    channels = {name: sbp.split(dim) for name, dim in CHANNELS.items()}
    every = {name: split for name, _ in DigitNet().named_parameters()}
    yield "data parallel", row, split, {}
    yield "tensor parallel", row, broadcast, channels
    yield "both, 2 by 2", mesh, [split, broadcast], {name: [broadcast, how] for name, how in channels.items()}
    yield "ZeRO", row, split, every


def network():
    torch.manual_seed(0)
    return DigitNet().double()


def batches():
    loader = DataLoader(load()[0], batch_size=BATCH)
    return [(images.double(), labels) for (images, labels), _ in zip(loader, range(STEPS))]


def spread(mesh, batch, weights):
    """The network and the batches, laid out on ranks."""
    model = network().to_global(mesh, sbp.broadcast)
    tensors = model.state_dict(keep_vars=True)
    for name, how in weights.items():
        tensors[name].data = tensors[name].data.to_global(sbp=how)
    place = lambda tensor: tensor.to_global(mesh, sbp.broadcast).to_global(sbp=batch)
    return model, [(place(images), place(labels)) for images, labels in batches()]


def train(model, data):
    """The loss of every step, and a profile of those after the first few."""
    torch.manual_seed(1)
    optimizer, losses, prof = torch.optim.AdamW(model.parameters(), lr=3e-3), [], profile()
    for step, (images, labels) in enumerate(data):
        if step == WARM_UP:
            prof.start()
        if step == STEPS - 1:
            dist.barrier()
        with record_function(str(step)):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    prof.stop()
    return losses, prof.events()


def in_pytorchs_way():
    """Each rank has the network, which neither drops anything nor looks at its batch: so the ranks' parts are independent."""
    mine = lambda tensor: tensor.tensor_split(dist.get_world_size())[dist.get_rank()]
    model = DistributedDataParallel(network().eval(), bucket_cap_mb=0.01)
    losses, events = train(model, [(mine(images), mine(labels)) for images, labels in batches()])
    losses = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    return losses.tolist(), events


def lanes(events):
    """When kernels ran and calls were under way in the last step, in milliseconds from its beginning."""
    (step,) = (event for event in events if event.name == str(STEPS - 1))
    inside = [event for event in events if event.start >= step.start and not event.is_user_annotation]
    span = lambda event: ((event.start - step.start) / 1000, event.cpu_time / 1000)
    return [[span(event) for event in inside if event.is_communication is kind] for kind in (False, True)]


def measured(name, alone, losses, events):
    """What all ranks have measured."""
    calls, ranks = events.communication(), [None] * dist.get_world_size()
    dist.all_gather_object(ranks, {"bytes": calls.nbytes / (STEPS - WARM_UP), "hidden": calls.hidden, "lanes": lanes(events)})
    return {"name": name, "alone": alone, "losses": losses, "ranks": ranks}


def main():
    dist.init_process_group()
    torch.set_num_threads(1)
    alone, _ = train(network(), batches())
    results = [measured(name, alone, *train(*spread(*way))) for name, *way in ways()]
    alone, _ = train(network().eval(), batches())
    results.append(measured("DistributedDataParallel", alone, *in_pytorchs_way()))
    if dist.get_rank() == 0:
        pathlib.Path(sys.argv[1]).write_text(json.dumps(results))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
