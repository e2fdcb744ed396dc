"""The buffer protocol."""

import array
import ctypes

import numpy as np
import pytest

import opforge as torch


def test_memoryviews_show_tensors():
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = memoryview(tensor)
    assert (view.format, view.itemsize, view.shape, view.strides, view.readonly) == ("f", 4, (2, 2), (8, 4), False)
    view[0, 1] = 9
    assert tensor.tolist() == [[1.0, 9.0], [3.0, 4.0]]
    assert bytes(torch.tensor([1, 2], dtype=torch.uint8)) == b"\x01\x02"
    assert memoryview(tensor.T).strides == (4, 8)
    assert memoryview(torch.tensor(5)).shape == () and memoryview(torch.tensor(5))[()] == 5
    assert memoryview(torch.tensor([])).nbytes == 0


def test_what_the_buffer_protocol_cannot_show_is_refused():
    for wrong in [
        torch.tensor([1.0], dtype=torch.bfloat16),
        torch.tensor([1.0], device="meta"),
        torch.tensor([1.0], requires_grad=True),
    ]:
        with pytest.raises(BufferError):
            memoryview(wrong)
    with pytest.raises((BufferError, TypeError)):
        b"".join([torch.tensor([[1.0, 2.0], [3.0, 4.0]]).T])


def test_buffers_of_other_modules():
    assert torch.asarray(array.array("f", [1.5, 2.5])).dtype is torch.float32
    assert torch.tensor(bytearray(b"ab")).tolist() == [97, 98]
    assert torch.tensor(bytearray(b"ab")).dtype is torch.int64
    assert torch.asarray(memoryview(b"abcd").cast("B", (2, 2))).tolist() == [[97, 98], [99, 100]]
    assert torch.asarray((ctypes.c_double * 3)(1, 2, 3)).tolist() == [1, 2, 3]


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.float32).tobytes())
    tensor = torch.frombuffer(data, dtype=torch.float32)
    assert tensor.tolist() == [0, 1, 2, 3]
    tensor.add_(1)
    assert np.frombuffer(data, np.float32).tolist() == [1, 2, 3, 4]
    assert torch.frombuffer(data, dtype=torch.float32, count=2, offset=4).tolist() == [2, 3]
    with pytest.raises(ValueError, match="read-only"):
        torch.frombuffer(bytes(8), dtype=torch.float32).add_(1)
    for options in [{"count": 5}, {"offset": 17}, {"offset": 16}, {"offset": 2, "count": 1}, {"count": 0}]:
        with pytest.raises(ValueError):
            torch.frombuffer(data, dtype=torch.float32, **options)
    with pytest.raises(TypeError):
        torch.frombuffer([1, 2], dtype=torch.float32)
