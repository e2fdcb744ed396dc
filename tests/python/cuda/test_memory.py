"""A device's memory, and waiting for its work."""

import gc
import threading

import pytest

import opforge as torch
from opforge import cuda


def test_memory_is_counted():
    gc.collect()
    cuda.synchronize()
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    x = torch.ones(1 << 18, device="cuda")
    cuda.synchronize()
    assert cuda.memory_allocated() - before >= 1 << 20 and cuda.max_memory_allocated() >= cuda.memory_allocated()
    free, total = cuda.mem_get_info()
    assert 0 < free < total == cuda.get_device_properties().total_memory or free < total
    stats = cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == cuda.memory_allocated() and "allocated_bytes.all.peak" in cuda.memory_summary()
    del x
    cuda.synchronize()
    cuda.empty_cache()
    assert cuda.memory_allocated() == before and cuda.max_memory_allocated() >= before + (1 << 20)


def test_too_much_memory_is_an_error():
    total = cuda.get_device_properties().total_memory
    with pytest.raises(torch.OutOfMemoryError):
        # Tensors have fewer than 2^31 elements there.
        count = min(total // 16, 1 << 30)
        [torch.zeros(count, dtype=torch.float32, device="cuda") for _ in range(total // count // 4 + 1)]
    assert torch.ones(2, device="cuda").sum().item() == 2


def test_memory_can_be_limited():
    total = cuda.get_device_properties().total_memory
    cuda.set_per_process_memory_fraction((cuda.memory_allocated() + (1 << 20)) / total)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.ones(1 << 19, device="cuda").sum().item()
        assert torch.ones(1 << 10, device="cuda").sum().item() == 1 << 10
    finally:
        cuda.set_per_process_memory_fraction(1)
    assert cuda.get_per_process_memory_fraction() == 1
    with pytest.raises(ValueError):
        cuda.set_per_process_memory_fraction(2)


def test_events_tell_times():
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    assert start.query()
    x = torch.ones(64, 64, device="cuda")
    start.record()
    x @ x
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="enable_timing"):
        cuda.Event().elapsed_time(end)


def test_streams_stand_for_the_device_s_queue():
    stream = cuda.Stream()
    with cuda.stream(stream):
        x = torch.ones(2, device="cuda") + 1
    stream.wait_stream(cuda.current_stream())
    stream.synchronize()
    assert stream.query() and x.tolist() == [2.0, 2.0] and stream == cuda.default_stream()
    event = stream.record_event()
    event.synchronize()
    assert event.query()
    assert isinstance(stream, torch.Stream) and isinstance(cuda.Event(), torch.Event)


def test_threads_have_current_devices_of_their_own():
    seen = []
    if cuda.device_count() > 1:
        with cuda.device(1):
            thread = threading.Thread(target=lambda: seen.append((cuda.current_device(), torch.ones(1, device="cuda").item())))
            thread.start()
            thread.join()
        assert seen == [(0, 1.0)]
