"""`opforge.distributed` in one process: a world of one, and what is wrong before any other process is asked."""

import datetime
import doctest
import json
import pickle
import subprocess
import sys

import pytest

import opforge as torch
import opforge.distributed as dist
from opforge.profiler._events import FunctionEvents


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_before_the_beginning():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None and dist.GroupMember.WORLD is None
    for call in dist.get_rank, dist.get_world_size, dist.get_backend, dist.barrier, dist.destroy_process_group:
        with pytest.raises(ValueError, match="not been initialized"):
            call()
    with pytest.raises(ValueError, match="not been initialized"):
        dist.all_reduce(torch.ones(1))


@pytest.mark.parametrize("options, error, text", [
    (dict(backend="nccl"), ValueError, "CUDA"), (dict(backend="pigeon"), ValueError, "expected gloo"), (dict(store=dist.HashStore()), ValueError, "rank parameter missing"),
    (dict(timeout=10), TypeError, "timedelta"), (dict(timeout=datetime.timedelta(0)), ValueError, "more than 0"),
    (dict(world_size=4, rank=0), ValueError, "MASTER_ADDR expected, but not set"), (dict(world_size=1, rank=3), ValueError, "below world_size=1"),
    (dict(world_size=4), ValueError, "RANK expected"), (dict(rank=1), ValueError, "WORLD_SIZE expected"), (dict(init_method="http://x"), ValueError, "expected env://"),
    (dict(init_method="tcp://x", rank=0, world_size=2), ValueError, "port number"), (dict(init_method="tcp://x:1"), ValueError, "rank parameter missing"),
    (dict(init_method="file://", rank=0, world_size=2), ValueError, "path missing"), (dict(init_method="env://", store=object()), ValueError, "both"),
])  # fmt: skip
def test_worlds_that_cannot_be(options, error, text):
    with pytest.raises(error, match=text):
        dist.init_process_group(**options)
    assert not dist.is_initialized()


def test_launchers_that_are_none_of_mpi(monkeypatch):
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "0"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "1")):
        with pytest.raises(ValueError, match=f"environment variable {name} expected"):
            dist.init_process_group("gloo", init_method="env://", rank=1 if name == "WORLD_SIZE" else -1)
        monkeypatch.setenv(name, value)
    with pytest.raises(dist.DistBackendError, match="mpiexec -n 2"):
        dist.init_process_group("mpi", init_method="env://")


def test_environments_of_one_process(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("RANK", "0")
    dist.init_process_group("gloo")
    assert dist.get_world_size() == 1
    dist.destroy_process_group()


def test_no_mpi_is_an_error_that_says_what_helps(monkeypatch):
    monkeypatch.setenv("OPFORGE_MPI", "/nowhere/libmpi_abi.so")
    assert not dist.is_mpi_available()


def test_profiles_show_calls_between_processes(world, tmp_path):
    with torch.profiler.profile() as prof:
        dist.all_reduce(torch.ones(4))
        torch.ones(3).exp()
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["threads:all_reduce"].is_communication and averages["threads:all_reduce"].share == 0
    assert prof.key_averages().total_average().count == sum(average.count for average in averages.values()) - 1
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert "communication" in {event["tid"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert prof.events().communication().count == 1 and prof.events().communication().nbytes == 0


def test_what_kernels_hide_of_communication():
    event = lambda start, end, is_call: torch.profiler.FunctionEvent("x", start, end, 1, 8, is_communication=is_call)
    calls, kernels = [(0, 10), (5, 20), (30, 40)], [(8, 12), (9, 11), (18, 32), (39, 50)]
    events = FunctionEvents([event(*span, True) for span in calls] + [event(*span, False) for span in kernels])
    events.append(torch.profiler.FunctionEvent("a range", 0, 50, 1, is_user_annotation=True))
    assert events.communication() == torch.profiler.Communication(3, 24, 30, (4 + 2 + 2 + 1) / 30)
    assert FunctionEvents().communication() == torch.profiler.Communication(0, 0, 0, 0.0)


def test_a_world_of_one(world):
    assert dist.is_initialized() and (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    assert dist.get_process_group_ranks() == [0] and dist.group.WORLD.size() == 1 and dist.group.WORLD.rank() == 0
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("mpi")
    x = torch.arange(6.0).reshape(2, 3).t()
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]]
    out = [torch.zeros(3, 2)]
    dist.all_gather(out, x)
    dist.scatter(x, out)
    dist.gather(x, out)
    dist.all_to_all_single(out[0], x)
    assert torch.equal(out[0], x)
    objects = [None]
    dist.all_gather_object(objects, {"a": [1]})
    assert objects == [{"a": [1]}]
    work = dist.all_reduce(x, async_op=True)
    assert isinstance(work, dist.Work) and work.wait() and work.is_completed()
    dist.barrier(group=dist.new_group([0]))


@pytest.mark.parametrize("op", ["BAND", "BOR", "BXOR", "PREMUL_SUM"])
def test_reductions_that_are_not_there(world, op):
    with pytest.raises(NotImplementedError, match=f"{op}.*SUM, AVG, PRODUCT, MIN or MAX"):
        dist.all_reduce(torch.ones(1), getattr(dist.ReduceOp, op))


def test_results_need_memory_that_can_be_written(world):
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(3, dtype="float32")
    array.flags.writeable = False
    try:
        x = torch.from_numpy(array)
    except ValueError:
        pytest.skip("read-only arrays are not shared")
    with pytest.raises(ValueError, match="read-only"):
        dist.all_reduce(x)


def test_examples():
    from opforge import sbp
    from opforge._global import convert, placement
    from opforge.distributed import _collectives, _state, _store, device_mesh
    from opforge.distributed.nn import functional
    from opforge.distributed.optim import zero_redundancy_optimizer
    from opforge.distributed.tensor import parallel
    from opforge.nn.parallel import distributed

    for module in _collectives, _state, _store, functional, zero_redundancy_optimizer, distributed, sbp, convert, placement, device_mesh, parallel:
        result = doctest.testmod(module)
        assert result.attempted and not result.failed


def test_a_sampler_asks_the_world(world):
    sampler = torch.utils.data.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and sampler.num_replicas == 1


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 11])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_samplers_give_each_rank_as_many(length, drop_last, shuffle):
    ranks = 4
    samplers = [torch.utils.data.DistributedSampler(range(length), ranks, rank, shuffle=shuffle, seed=5, drop_last=drop_last) for rank in range(ranks)]
    each = length // ranks if drop_last else -(-length // ranks)
    parts = [list(sampler) for sampler in samplers]
    assert [len(part) for part in parts] == [len(sampler) for sampler in samplers] == [each] * ranks
    order = [parts[k % ranks][k // ranks] for k in range(each * ranks)]
    assert set(order[:length]) == set(range(length)) or drop_last
    assert len(set(order[:length])) == min(length, each * ranks)
    # What is repeated are the first samples.
    assert order[length:] == [order[k % length] for k in range(length, len(order))]
    if not shuffle:
        assert order[:length] == list(range(min(length, each * ranks)))


def test_samplers_draw_another_order_in_another_epoch():
    sampler = torch.utils.data.DistributedSampler(range(50), 1, 0, seed=5)
    first = list(sampler)
    sampler.set_epoch(1)
    assert first != list(sampler) == list(torch.utils.data.DistributedSampler(range(50), 1, 0, seed=6))
    sampler.set_epoch(0)
    assert first == list(sampler)


def test_names_of_training_are_found_as_pytorchs():
    code = """if True:
        import opforge.as_torch, torch
        import torch.distributed as dist
        import torch.distributed.algorithms.ddp_comm_hooks.default_hooks as hooks
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        from torch.distributed.optim import ZeroRedundancyOptimizer
        from torch.nn.parallel import DistributedDataParallel
        from torch.nn.parallel.distributed import DistributedDataParallel as again
        from torch.utils.data.distributed import DistributedSampler
        assert hooks is default_hooks and again is DistributedDataParallel is torch.nn.parallel.DistributedDataParallel
        assert issubclass(ZeroRedundancyOptimizer, torch.optim.Optimizer) and issubclass(again, torch.nn.Module) and dist.GradBucket
        try:
            again(torch.nn.Linear(2, 2))
        except ValueError as error:
            assert "init_process_group" in str(error)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_communication_hooks_by_name(world):
    from opforge.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, default_hooks, register_ddp_comm_hook

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    with pytest.raises(TypeError, match="DDPCommHookType"):
        register_ddp_comm_hook(default_hooks.allreduce_hook, model)
    register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model)
    model(torch.tensor([[1 + 2**-12, 3.0]])).sum().backward()
    assert model.module.weight.grad.tolist() == [[1, 3]] and len(DDPCommHookType) == 3


def test_models_are_pickled(world):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), find_unused_parameters=True)
    copy = pickle.loads(pickle.dumps(model))
    copy(torch.ones(1, 2)).sum().backward()
    assert copy.find_unused_parameters and torch.equal(copy.module.weight, model.module.weight) and copy.module.weight.grad.tolist() == [[1, 1]]
    optimizer = dist.optim.ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with pytest.raises(TypeError, match="consolidate_state_dict"):
        pickle.dumps(optimizer)


def test_buckets_are_of_one_dtype_and_of_bounded_size():
    from opforge.nn.parallel._buckets import buckets_of

    sizes = [(4, torch.float32), (8, torch.float64), (4, torch.float32), (4, torch.float32), (30, torch.float32), (1, torch.float64)]
    parameters = [torch.zeros(count, dtype=dtype) for count, dtype in sizes]
    buckets = buckets_of(parameters, 16, 32)
    assert [(bucket.positions, bucket.is_last) for bucket in buckets] == [([4], False), ([3, 2], False), ([5, 1], False), ([0], True)]
    assert [bucket.index for bucket in buckets] == [0, 1, 2, 3]


def test_errors_have_pytorch_classes():
    assert issubclass(dist.DistBackendError, dist.DistError) and issubclass(dist.DistStoreError, dist.DistError) and issubclass(dist.DistError, RuntimeError)
    assert dist.DistError.__module__ == "opforge.distributed"
