"""A program of two or three ranks: what goes wrong in data-parallel training is an error on every rank, and those that can go on do."""

import datetime

import opforge as torch
import opforge.distributed as dist
from opforge import nn
from opforge.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=datetime.timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()


def raises(call, error, *texts):
    try:
        call()
    except error as found:
        assert all(text in str(found) for text in texts), (rank, str(found))
        return
    raise AssertionError(f"rank {rank}: no {error.__name__}")


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.always, self.sometimes = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, both=True, fails=False):
        x = self.always(x)
        if fails:
            x.register_hook(_fail)
        return (x + (self.sometimes(x) if both else 0)).pow(2).mean()


def _fail(grad):
    raise ZeroDivisionError("in backward")


def models_that_differ():
    """Another number, shape, dtype or kind of parameters, or other options."""
    last = rank == size - 1
    kinds = [
        (lambda: nn.Sequential(*[nn.Linear(2, 2)] * (1 + last), nn.Linear(2, 2 + last)), {}),
        (lambda: nn.Linear(2, 2 + last), {}),
        (lambda: nn.Linear(2, 2, bias=not last), {}),
        (lambda: nn.Linear(2, 2, dtype=torch.float64 if last else torch.float32), {}),
        (lambda: nn.Linear(2, 2).requires_grad_(True) if not last else _frozen(nn.Linear(2, 2)), {}),
        (lambda: nn.Linear(2, 2), dict(find_unused_parameters=last)),
        (lambda: nn.Linear(2, 2), dict(bucket_cap_mb=25 + last)),
    ]
    for make, options in kinds:
        raises(lambda: DDP(make(), **options), dist.DistError, "ranks differ", "rank 0 has", f"rank {size - 1} has")


def _frozen(layer):
    layer.bias.requires_grad_(False)
    return layer


def missing_gradients():
    """A parameter without a gradient, on one rank or on all, is an error on each, and training may go on."""
    model, x = DDP(Branches()), torch.ones(2, 3)
    for both in (rank > 0, False):
        loss = model(x, both=both)
        words = ("on this rank: sometimes.weight",) if not both else ("elsewhere: sometimes.weight", f"on 1 of {size} ranks")
        raises(loss.backward, RuntimeError, "find_unused_parameters=True", *words)
        model.zero_grad()
    model(x).backward()
    assert model.module.sometimes.weight.grad is not None


def a_backward_that_is_left_out():
    """The next gradients of a rank that leaves out a backward are not taken for those of now, also when all but one leave it out."""
    x = torch.ones(2, 3)
    for leaves_out in (rank == size - 1), (rank != 0):
        model = DDP(Branches())
        for step in range(3):
            loss = model(x * step)
            if step == 1 and leaves_out:
                continue
            if step == 0:
                loss.backward()
            elif step == 1 or leaves_out:
                raises(loss.backward, RuntimeError, "different iterations")
                break
        model.zero_grad()
        model(x).backward()
        assert torch.allclose(model.module.always.bias.grad, _alone(model, x))


def _alone(model, x):
    return torch.autograd.grad(model.module(x), [model.module.always.bias])[0]


def gradients_that_come_twice():
    """A parameter whose gradient comes again after it was sent, from a backward inside of another."""
    layer = nn.Linear(3, 3)
    for static in False, True:
        model = DDP(nn.Sequential(layer, nn.Linear(3, 3)), static_graph=static, bucket_cap_mb=1e-5)

        class Inner(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                with torch.enable_grad():
                    (model.module[1](torch.ones(1, 3)).sum() * (rank + 1)).backward()
                return grad

        for _ in range(3):
            model.zero_grad()
            loss = model(Inner.apply(torch.ones(1, 3, requires_grad=True))).sum()
            if static:
                loss.backward()
                assert torch.allclose(model.module[1].bias.grad, torch.full([3], 1 + (size + 1) / 2))
            else:
                raises(loss.backward, RuntimeError, "marked ready twice", "1.weight")


def errors_in_backward():
    """One on all ranks before any bucket has left: training goes on. After that: the rank says that it cannot."""
    x = torch.ones(2, 3)
    model = DDP(Branches())
    raises(model(x, fails=True).backward, ZeroDivisionError, "in backward")
    model.zero_grad()
    model(x).backward()
    model = DDP(Branches(), bucket_cap_mb=1e-5)
    raises(model(x, fails=True).backward, ZeroDivisionError, "in backward")
    raises(lambda: model(x), RuntimeError, "Expected to have finished reduction")


def wrong_arguments():
    layer = nn.Linear(2, 2)
    raises(lambda: DDP(layer, device_ids=[0]), ValueError, "device_ids=[0]")
    raises(lambda: DDP(layer, bucket_cap_mb=0), ValueError, "more than 0")
    raises(lambda: DDP(layer, mixed_precision=object()), NotImplementedError, "mixed_precision")
    raises(lambda: DDP(torch.ones(2)), TypeError, "nn.Module")
    raises(lambda: DDP(nn.ReLU()), RuntimeError, "not needed")
    raises(lambda: DDP(nn.LazyLinear(3)), RuntimeError, "not initialized")
    model = DDP(layer)
    raises(lambda: model.register_comm_hook(None, 3), TypeError, "callable")
    model.register_comm_hook(None, lambda state, bucket: None)
    raises(lambda: model.register_comm_hook(None, print), RuntimeError, "only be called once")
    raises(lambda: model(torch.ones(1, 2)).sum().backward(), TypeError, "expected a Future")


for test in models_that_differ, missing_gradients, a_backward_that_is_left_out, gradients_that_come_twice, wrong_arguments, errors_in_backward:
    test()
print("all is right", flush=True)
dist.destroy_process_group()
