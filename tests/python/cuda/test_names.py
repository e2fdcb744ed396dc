"""What programs ask about devices before they use them, under names that do not say which device."""

import pytest

import opforge as torch
from opforge import _utils, cuda
from opforge.utils.checkpoint import get_device_states, set_device_states


def test_there_is_an_accelerator():
    assert _utils._get_available_device_type() == "cuda" and _utils._get_all_device_indices() == list(range(cuda.device_count()))
    assert not cuda.amp.common.amp_definitely_not_available()
    assert cuda.is_tf32_supported() == (cuda.get_device_capability() >= (8, 0))


def test_states_of_devices_are_kept_and_set_again():
    x = torch.ones(2, device="cuda")
    devices, states = get_device_states([x, torch.ones(2)], {"y": x}, 3)
    assert devices == [0] and len(states) == 1
    first = torch.rand(3, device="cuda").tolist()
    set_device_states(devices, states)
    assert torch.rand(3, device="cuda").tolist() == first
    assert get_device_states(torch.ones(2)) == ([], [])


def test_streams_and_events_of_any_device():
    stream = torch.Stream("cuda")
    assert stream == cuda.default_stream() and isinstance(cuda.Stream(), torch.Stream)
    last = torch.device("cuda", cuda.device_count() - 1)
    start, end = torch.Event(last, enable_timing=True), torch.Event(last, enable_timing=True)
    assert start.query() and isinstance(cuda.Event(), torch.Event)
    start.record()
    torch.ones(64, 64, device=last).exp()
    end.record(torch.Stream(last))
    end.synchronize()
    assert end.query() and start.elapsed_time(end) > 0
    with pytest.raises(ValueError, match="cuda device"):
        torch.Event("cpu")
    with pytest.raises(TypeError):
        torch.Event(None, True)
