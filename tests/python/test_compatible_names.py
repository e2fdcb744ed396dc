"""Names that PyTorch's packages use: what they do is true, or they say that something is not there."""

import copy
import importlib
import json
import pathlib
import pickle

import numpy
import pytest

import opforge as torch

ABSENT = [
    ("jit", "save", NotImplementedError), ("onnx", "export", NotImplementedError), ("distributed", "new_subgroups", NotImplementedError),
    ("distributed", "TCPStore", NotImplementedError), ("fx", "CodeGen", NotImplementedError), ("distributed.fsdp", "fully_shard", NotImplementedError),
    ("quantization", "quantize_dynamic", NotImplementedError), ("utils.cpp_extension", "load", NotImplementedError), ("cuda", "Stream", RuntimeError),
    ("cuda", "current_device", RuntimeError), ("xpu", "get_device_properties", RuntimeError), ("mps", "Event", RuntimeError),
    ("accelerator", "current_device_index", RuntimeError), ("distributed", "get_rank", ValueError), ("distributed", "get_world_size", ValueError),
]  # fmt: skip


@pytest.mark.parametrize("module, name, error", ABSENT)
def test_what_is_absent_says_so_when_it_is_used(module, name, error):
    found = getattr(importlib.import_module(f"opforge.{module}"), name)
    with pytest.raises(error, match="[a-z]"):
        found()


def test_devices_that_are_not_there_answer():
    for device in torch.cuda, torch.xpu, torch.mps:
        assert not device.is_available() and device.device_count() == 0 and device.memory_allocated() == 0 and device.memory_stats() == {}
    assert torch.accelerator.current_accelerator() is None and torch.backends.cudnn.version() is None and not torch.backends.mps.is_built()
    with torch.cuda.device(None), torch.cuda.device(-1), torch.cuda.stream(None):
        pass
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.cuda.device(0).__enter__()
    assert torch.distributed.is_available() and not torch.distributed.is_initialized() and not torch.distributed.is_nccl_available()


def test_switches_are_kept():
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        assert torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32
    with torch.backends.cudnn.flags(allow_tf32=False):
        assert not torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cudnn.allow_tf32 and torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert not torch.backends.cuda.matmul.allow_tf32
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 1
    torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0
    with pytest.raises(RuntimeError, match="highest"):
        torch.set_float32_matmul_precision("low")
    with torch._dynamo.config.patch(verbose=True):
        assert torch._dynamo.config.verbose
    assert not torch._dynamo.config.verbose


def test_types_of_tensors():
    assert torch.LongTensor([2**53 + 1]).tolist() == [2**53 + 1] and torch.FloatTensor(2, 3).shape == (2, 3) and torch.ByteTensor().numel() == 0
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.DoubleTensor) and not isinstance(1, torch.FloatTensor)
    assert torch.typename(torch.ones(1, dtype=torch.complex64)) == "torch.ComplexFloatTensor" and torch.typename([]) == "list"
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor) and torch.typename(torch.ones(1)) == "torch.FloatTensor"
    with pytest.raises(TypeError, match="float32"):
        torch.FloatTensor(torch.ones(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="cuda"):
        torch.cuda.FloatTensor(1)
    torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.ones(1).dtype is torch.float64
    torch.set_default_tensor_type("torch.FloatTensor")
    with pytest.raises(TypeError, match="floating"):
        torch.set_default_tensor_type(torch.LongTensor)


def test_attributes_that_tell_what_a_tensor_is_not():
    x = torch.ones(2, 3)
    assert not (x.is_sparse or x.is_quantized or x.is_mps or x.is_nested) and x.layout is torch.strided and x.get_device() == -1
    assert x.t().dim_order() == (1, 0) and x.t().dim_order(ambiguity_check=True) == (1, 0)
    assert x[:1].dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1)
    with pytest.raises(RuntimeError, match="unique dim order"):
        x[:1].dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="ambiguity_check"):
        x.dim_order(ambiguity_check="yes")
    with pytest.raises(RuntimeError, match="cuda"):
        x.cuda()


def test_scripts_are_the_functions_themselves():
    def double(x):
        return 2 * x

    for decorate in torch.jit.script, torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.script_if_tracing, torch.jit.ignore(drop=True):
        assert decorate(double) is double
    assert torch.jit.annotate(int, 3) == 3 and not torch.jit.is_scripting()
    assert torch.jit.isinstance([1], list[int]) and not torch.jit.isinstance(["a"], list[int]) and torch.jit.isinstance({"a": 1}, dict[str, int])
    assert torch.jit.trace(double, torch.ones(2))(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert torch.jit.wait(torch.jit.fork(double, 4)) == 8


def test_checks():
    torch._assert(torch.tensor(True), "")
    torch._check(True)
    for function, error in (torch._check, RuntimeError), (torch._check_value, ValueError), (torch._check_index, IndexError), (torch._check_type, TypeError):
        with pytest.raises(error, match="told"):
            function(False, lambda: "told")
    with pytest.raises(AssertionError, match="told"):
        torch._assert(torch.tensor(False), "told")


def test_random_numbers_go_on_after_a_fork():
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(5)
    first = torch.rand(2)
    torch.manual_seed(3)
    assert torch.rand(2).tolist() == first.tolist()


def test_generators_begin_alike_and_can_be_copied():
    generator = torch.Generator()
    assert generator.initial_seed() == torch.Generator("cpu").initial_seed() == 67280421310721
    assert torch.Generator().manual_seed(3).initial_seed() == 3
    torch.rand(5, generator=generator.manual_seed(3))
    copies = [generator.clone_state(), copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    expected = torch.rand(4, generator=generator)
    for other in copies:
        assert other.initial_seed() == 3 and torch.equal(torch.rand(4, generator=other), expected)


def test_the_scaler_of_gradients_is_a_name_of_the_package():
    assert torch.GradScaler is torch.amp.GradScaler and "GradScaler" in dir(torch)


def test_hub_reads_folders_and_files(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['numpy']\ndef five(n=5):\n    'Five.'\n    return n\n")
    assert torch.hub.load(str(tmp_path), "five", source="local", n=6) == 6
    assert torch.hub.list(str(tmp_path)) == ["five"] and torch.hub.help(str(tmp_path), "five") == "Five."
    with pytest.raises(RuntimeError, match="six"):
        torch.hub.load(str(tmp_path), "six", source="local")
    with pytest.raises(NotImplementedError, match="local"):
        torch.hub.load("owner/repository", "five")
    torch.save({"x": torch.arange(3)}, tmp_path / "weights.safetensors")
    url = pathlib.Path(tmp_path / "weights.safetensors").as_uri()
    loaded = torch.hub.load_state_dict_from_url(url, tmp_path / "cache", progress=False)
    assert loaded["x"].tolist() == [0, 1, 2] and (tmp_path / "cache" / "weights.safetensors").exists()
    with pytest.raises(RuntimeError, match="hash"):
        torch.hub.download_url_to_file(url, tmp_path / "other", "0000", progress=False)
    assert not (tmp_path / "other").exists()


def test_futures():
    future = torch.futures.Future()
    doubled = future.then(lambda done: 2 * done.wait())
    both = torch.futures.collect_all([future, doubled])
    assert not doubled.done()
    future.set_result(4)
    assert doubled.wait() == 8 and [done.value() for done in both.wait()] == [4, 8]
    failed = torch.futures.Future()
    failed.set_exception(KeyError("gone"))
    with pytest.raises(KeyError, match="gone"):
        failed.then(lambda done: done.wait()).wait()


def test_storages_of_files(tmp_path):
    path = tmp_path / "bytes"
    numpy.arange(6, dtype=numpy.uint8).tofile(path)
    storage = torch.UntypedStorage.from_file(str(path), False, 6)
    assert len(storage) == 6 and storage[2] == 2 and torch.asarray(storage[1:3], dtype=torch.uint8).tolist() == [1, 2]


def test_batches_of_one_process():
    layer = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3))
    layer[1].weight.data.uniform_()
    x = torch.randn(4, 2, 3, 3)
    expected, before = layer(x), dict(layer.state_dict())
    converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(layer)
    assert isinstance(converted[1], torch.nn.SyncBatchNorm) and list(converted.state_dict()) == list(before)
    assert torch.allclose(torch.nn.parallel.DataParallel(converted)(x), expected)
    with pytest.raises(ValueError, match="2D"):
        torch.nn.SyncBatchNorm(3)(torch.ones(3))


def test_samples_of_one_of_several_processes():
    parts = [torch.utils.data.DistributedSampler(range(7), 3, rank, shuffle=False) for rank in range(3)]
    assert [list(part) for part in parts] == [[0, 3, 6], [1, 4, 0], [2, 5, 1]] and len(parts[0]) == 3
    shuffled = [torch.utils.data.DistributedSampler(range(6), 2, rank, seed=1) for rank in range(2)]
    assert sorted([*shuffled[0], *shuffled[1]]) == list(range(6))
    with pytest.raises(ValueError, match="rank"):
        torch.utils.data.DistributedSampler(range(6), 2, 2)


def test_gradient_hooks_of_several_tensors():
    seen = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with torch.autograd.graph.register_multi_grad_hook((x, y), seen.append):
        (x * 2 + y * 3).sum().backward()
    assert [grad.tolist() for grad in seen[0]] == [[2.0, 2.0], [3.0, 3.0]]
    x.sum().backward()
    assert len(seen) == 1


def test_versions_compare():
    version = torch.torch_version.TorchVersion("2.15.0+opforge")
    assert version > "2.9" and version >= (2, 15) and version < "2.16.0.dev1" and version > "2.15.0" and version != "2.15"
    assert version == "2.15.0+opforge" and hash(version) == hash("2.15.0+opforge") and not version == "no version"


def test_named_tuples_of_results():
    assert isinstance(torch.max(torch.ones(2), 0), torch.return_types.max)
    with pytest.raises(AttributeError):
        torch.return_types.nothing


def test_a_report_of_the_machine():
    text = torch.utils.collect_env.get_pretty_env_info()
    assert torch.__version__ in text and "CUDA available: False" in text
    assert json.dumps(text)


def test_profiles_record_the_steps_of_a_schedule():
    steps = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [steps(step).name for step in range(6)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    found = []
    with torch.profiler.profile(schedule=steps, on_trace_ready=lambda prof: found.append([e.name for e in prof.events() if e.is_user_annotation])) as prof:
        for step in range(6):
            with torch.profiler.record_function(str(step)):
                torch.ones(3).sum().item()
            prof.step()
    assert found == [["3", "4"]]


def test_timers():
    result = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).blocked_autorange(min_run_time=0.01)
    assert 0 < result.median < 1 and result.number_per_run >= 1 and "Median" in repr(result)
    with pytest.raises(NotImplementedError, match="Python"):
        torch.utils.benchmark.Timer("x", language="c++")


def test_functions_that_would_be_quantized():
    functions, x = torch.nn.quantized.FloatFunctional(), torch.tensor([-3.0, 2.0])
    assert functions.add_relu(x, x).tolist() == [0.0, 4.0] and functions.mul_scalar(x, 2).tolist() == [-6.0, 4.0]
    assert functions.cat([x, x]).shape == (4,) and list(functions.state_dict()) == []
    with pytest.raises(RuntimeError, match="forward"):
        functions(x)
