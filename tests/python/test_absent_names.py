"""Names and devices that are not there say so when they are used, and answer when they are asked."""

import importlib

import pytest

import opforge as torch

# Their calls are errors of these classes.
ABSENT = {
    NotImplementedError: """
        jit.save jit._get_trace_graph onnx.export fx.CodeGen quantization.quantize_dynamic utils.cpp_extension.load TensorType DeviceObjType _C.Value _C.Graph
        _C._functorch._add_batch_dim _functorch.vmap._unwrap_batched utils._python_dispatch.TorchDispatchMode distributed.new_subgroups
        distributed.fsdp.fully_shard distributed.fsdp.wrap.wrap distributed._tensor.experimental.implicit_replication
        distributed.checkpoint.state_dict.get_state_dict distributed._composable.fsdp.FSDPModule
    """,
    RuntimeError: "cuda.Stream cuda.current_device xpu.get_device_properties mps.Event accelerator.current_device_index",
    ValueError: "distributed.get_rank distributed.get_world_size",
}


@pytest.mark.parametrize("name, error", [(name, error) for error, names in ABSENT.items() for name in names.split()])
def test_what_is_absent_says_so_when_it_is_used(name, error):
    place, _, last = f"opforge.{name}".rpartition(".")
    with pytest.raises(error, match=last if error is NotImplementedError else "[a-z]"):
        getattr(importlib.import_module(place), last)()


def test_devices_that_are_not_there_answer():
    for device in torch.cuda, torch.xpu, torch.mps:
        assert not device.is_available() and device.device_count() == 0 and device.memory_allocated() == 0 and device.memory_stats() == {}
    assert torch.accelerator.current_accelerator() is None and torch.backends.cudnn.version() is None and not torch.backends.mps.is_built()
    with torch.cuda.device(None), torch.cuda.device(-1), torch.cuda.stream(None):
        pass
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.cuda.device(0).__enter__()
    assert torch.distributed.is_available() and not torch.distributed.is_initialized() and not torch.distributed.is_nccl_available()


def test_removed_functions_say_what_to_use():
    with pytest.raises(RuntimeError, match=r"linalg\.eigh"):
        torch.symeig(torch.eye(2))
