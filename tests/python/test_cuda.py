"""Tensors on CUDA devices: the tests of `cuda/` and `devices/` run in a process of their own, on this machine's GPU or, where there is none, on the host by a driver
that is made for tests. And what there is without a driver."""

import os
import pathlib
import subprocess
import sys

import pytest
from host_driver import HAS_GPU, environment

import opforge as torch

TESTS = [str(pathlib.Path(__file__).parent / folder) for folder in ("cuda", "devices")]


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("driver"))


def test_on_devices(devices):
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, env=devices | {"OPFORGE_DEVICE": "cuda"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.skipif(HAS_GPU, reason="kernels that fail are the host driver's")
def test_what_fails_on_a_device_is_the_error_of_who_waits(devices):
    program = """
import os, opforge as torch
x = torch.ones(3, device="cuda")
os.environ["OPFORGE_HOST_DRIVER_FAILS"] = "1"
try:
    (x + 1).tolist()
except RuntimeError as error:
    print(error)
try:
    x * 2
    torch.cuda.synchronize()
except RuntimeError as error:
    print(error)
print((torch.ones(2) + 1).tolist())
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], env=devices | {"PYTHONPATH": package()}, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and lines[2] == "[2.0, 2.0]", done
    assert all("cuda:0" in line and "an illegal memory access was encountered (700: CUDA_ERROR_ILLEGAL_ADDRESS)" in line for line in lines[:2]), lines


def package():
    return str(pathlib.Path(torch.__file__).parents[1])


def absent(program):
    """What a program prints where there are no libraries of NVIDIA's."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA", "OPFORGE_CUDA"))} | {"PYTHONPATH": package()}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    return done.stdout.splitlines()


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_driver_questions_have_answers():
    program = """
import opforge as torch
from opforge import cuda
print(cuda.is_available(), cuda.device_count(), cuda.is_initialized(), cuda.memory_allocated(), cuda.memory_stats(), cuda.get_arch_list())
cuda.synchronize(); cuda.empty_cache(); cuda.manual_seed_all(3); cuda.reset_peak_memory_stats()
set_states = lambda: torch.utils.checkpoint.set_device_states([0], [torch.get_rng_state()])
for use in (cuda.current_device, cuda.get_device_name, cuda.Stream, cuda.Event, cuda.CUDAGraph, cuda.init, cuda.mem_get_info, torch.ones(1).cuda,
            torch.Stream, torch.Event, set_states):
    try:
        use()
    except AssertionError as error:
        print(error)
print(torch.accelerator.is_available(), torch.accelerator.current_accelerator(), cuda.is_tf32_supported(), cuda.amp.common.amp_definitely_not_available())
print(torch._utils._get_available_device_type(), torch._utils._get_all_device_indices())
"""
    lines = absent(program)
    assert lines[0] == "False 0 False 0 {} []" and lines[-2:] == ["False None False True", "None None"]
    assert lines[1:-2] == ["cuda: there is no CUDA device: no GPU, or no driver"] * 11
