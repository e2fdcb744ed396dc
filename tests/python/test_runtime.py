"""Printing, threads, memory, dtypes' facts, and the profiler."""

import json
import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import opforge as torch
from opforge.profiler import ProfilerActivity, profile, record_function

# Printing


@pytest.fixture
def printing():
    before = torch.get_printoptions()
    yield
    torch.set_printoptions(**before)


def test_printoptions(printing):
    tensor = torch.tensor([1 / 3, 2.0])
    assert repr(tensor) == "tensor([0.3333, 2.0000])"
    torch.set_printoptions(precision=2)
    assert repr(tensor) == "tensor([0.33, 2.00])"
    torch.set_printoptions(sci_mode=True)
    assert repr(tensor) == "tensor([3.33e-01, 2.00e+00])"
    torch.set_printoptions(profile="default")
    assert repr(tensor) == "tensor([0.3333, 2.0000])"
    torch.set_printoptions(threshold=4, edgeitems=1)
    assert repr(torch.tensor(list(range(6)))) == "tensor([0,  ..., 5])"
    torch.set_printoptions(threshold=math.inf)
    assert "..." not in repr(torch.tensor(list(range(6))))
    torch.set_printoptions(linewidth=20, profile=None)
    assert "\n" in repr(torch.tensor(list(range(20))))
    with pytest.raises(ValueError, match="short"):
        torch.set_printoptions(profile="long")


# Threads and memory


def test_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        for wrong in [0, -1]:
            with pytest.raises(ValueError):
                torch.set_num_threads(wrong)
        with pytest.raises(TypeError):
            torch.set_num_threads("2")
    finally:
        torch.set_num_threads(before)


def test_memory_is_counted():
    torch.synchronize()
    before = torch.memory_allocated()
    tensor = torch.tensor(np.zeros(1_000_000, np.float32)) + 1
    torch.synchronize()
    taken = torch.memory_allocated() - before
    assert 4_000_000 <= taken < 5_000_000
    assert torch.max_memory_allocated() >= torch.memory_allocated() and torch.memory_reserved() >= torch.memory_allocated()
    del tensor
    assert torch.memory_allocated() - before < 4_000_000
    stats = torch.memory_stats()
    assert stats["in_use"] == torch.memory_allocated() and stats["allocations"] > 0
    torch.reset_peak_memory_stats()
    assert torch.max_memory_allocated() == torch.memory_allocated()


def test_the_memory_limit_is_an_error_not_an_abort():
    before = torch.memory_stats()["limit"]
    try:
        torch.set_memory_limit(50_000_000)
        with pytest.raises(MemoryError, match="limit"):
            torch.zeros(100_000_000)
        with pytest.raises(MemoryError):
            torch.Tensor(100_000_000)
        assert torch.zeros(10).sum().item() == 0
    finally:
        torch.set_memory_limit(before)


def test_synchronize_lets_other_threads_run():
    large = torch.tensor(np.ones(2_000_000))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(10):
        large = large.exp().log()
    before = len(ticks)
    torch.synchronize()
    elapsed = len(ticks) - before
    done.set()
    thread.join()
    assert elapsed > 0


# Calls that run together


def test_calls_that_wait_run_together_with_the_same_results():
    x, w = torch.randn(2000, 1500), torch.randn(1500)
    expression = lambda: torch.nn.functional.gelu(x * w + 1.5) * x
    results, together = [], []
    try:
        for fusing in [True, False]:
            torch.set_fusing(fusing)
            assert torch.is_fusing() == fusing
            # The queue is not empty when the first call comes.
            with torch.profiler.profile() as prof:
                torch.randn(6_000_000).sort()
                results.append(expression())
            together.append([event.program is not None for event in prof.events() if event.name in ("mul", "add", "gelu")])
    finally:
        torch.set_fusing(True)
    assert [len(flags) for flags in together] == [4, 4] and all(together[0]) and not any(together[1])
    assert torch.equal(*results)


def test_the_environment_forbids_to_fuse():
    command = [sys.executable, "-c", "import opforge; print(opforge.is_fusing())"]
    for value, expected in [("0", "False"), ("1", "True")]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "OPFORGE_FUSE": value})
        assert done.stdout.strip() == expected, done.stderr


# Facts


def test_questions_about_tensors():
    tensor = torch.tensor([[1.0, 2.0]])
    assert torch.is_tensor(tensor) and not torch.is_tensor([1.0]) and torch.is_storage(tensor.untyped_storage())
    assert torch.numel(tensor) == 2 and torch.is_floating_point(tensor) and not torch.is_complex(tensor)
    assert torch.is_nonzero(torch.tensor([3])) and not torch.is_nonzero(torch.tensor(0.0))
    with pytest.raises(ValueError):
        torch.is_nonzero(tensor)
    with pytest.raises(TypeError):
        torch.numel([1, 2])


def test_promotion():
    ints, floats = torch.tensor([1], dtype=torch.int32), torch.tensor([1.0], dtype=torch.float16)
    assert torch.result_type(ints, floats) is torch.float16
    assert torch.result_type(ints, 1.5) is torch.float32
    assert torch.result_type(floats, torch.tensor(1.0, dtype=torch.float64)) is torch.float16
    assert torch.result_type(1, 2) is torch.int64 and torch.result_type(True, 2.0) is torch.float32
    assert torch.result_type(1j, floats) is torch.complex64
    assert torch.promote_types(torch.int32, torch.uint8) is torch.int32
    assert torch.promote_types(torch.float16, torch.bfloat16) is torch.float32
    assert torch.can_cast(torch.int64, torch.float16) and torch.can_cast(torch.float64, torch.float32)
    assert not torch.can_cast(torch.float16, torch.int64) and not torch.can_cast(torch.int8, torch.bool)
    for wrong in ["text", None]:
        with pytest.raises(TypeError):
            torch.result_type(ints, wrong)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_is_numpys(name):
    ours, numpys = torch.finfo(getattr(torch, name)), np.finfo(name)
    for field in ["bits", "eps", "max", "min", "tiny", "smallest_normal"]:
        assert getattr(ours, field) == float(getattr(numpys, field))
    assert ours.resolution == pytest.approx(float(numpys.resolution), rel=1e-3) and ours.dtype == name


def test_finfo_of_other_dtypes():
    assert torch.finfo().dtype == "float32" and torch.finfo(torch.complex128).bits == 64
    brain = torch.finfo(torch.bfloat16)
    assert (brain.bits, brain.eps, brain.max) == (16, 2.0**-7, 3.3895313892515355e38)
    assert repr(torch.finfo(torch.float32)).startswith("finfo(resolution=1e-6, min=-3.40282e38")
    with pytest.raises(TypeError):
        torch.finfo(torch.int32)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_iinfo_is_numpys(name):
    ours, numpys = torch.iinfo(getattr(torch, name)), np.iinfo(name)
    assert (ours.bits, ours.max, ours.min, ours.dtype) == (numpys.bits, numpys.max, numpys.min, name)
    with pytest.raises(TypeError):
        torch.iinfo(torch.float32)


# The profiler


def test_the_profile_counts_kernels(tmp_path):
    large = torch.tensor(np.ones(1_000_000, np.float32))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("a step"):
            for _ in range(3):
                large.exp()
        large.sqrt()
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["exp"].count == 3 and averages["sqrt"].count == 1 and averages["a step"].count == 1
    assert averages["exp"].nbytes == 12_000_000 and averages["exp"].cpu_time_total > 0
    assert averages["exp"].cpu_time == pytest.approx(averages["exp"].cpu_time_total / 3)
    assert sum(average.share for average in averages.values()) == pytest.approx(1)
    assert averages["a step"].is_user_annotation and averages["a step"].share == 0

    table = prof.key_averages().table(sort_by="count", row_limit=2)
    rows = table.splitlines()
    assert rows[1].split()[:2] == ["Name", "Calls"] and rows[3].split()[:2] == ["exp", "3"] and len(rows) == 7
    assert len(prof.key_averages().table(row_limit=-1).splitlines()) > len(rows)
    with pytest.raises(ValueError, match="cpu_time_total"):
        prof.key_averages().table(sort_by="cuda_time")

    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "exp" for event in trace) == 3
    assert {event["cat"] for event in trace} == {"kernel", "user_annotation"}
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in trace)


def test_only_what_runs_meanwhile_is_recorded():
    tensor = torch.tensor([1.0])
    tensor.exp()
    with record_function("outside"):
        pass
    seen = []
    with profile(on_trace_ready=seen.append) as prof:
        tensor.sqrt()
        with pytest.raises(RuntimeError, match="another"):
            profile().start()
    tensor.exp()
    assert seen == [prof] and [event.name for event in prof.events()] == ["sqrt"]
    with pytest.raises(RuntimeError):
        prof.stop()
    with pytest.raises(RuntimeError):
        profile().events()


def test_record_function_decorates():
    @record_function("doubling")
    def double(x):
        return x * 2

    assert double(torch.tensor([1.0])).tolist() == [2.0]
    with profile() as prof:
        double(torch.tensor([1.0]))
        double(torch.tensor([1.0]))
    assert {a.key: a.count for a in prof.key_averages()}["doubling"] == 2
    with pytest.raises(TypeError):
        record_function(3)
