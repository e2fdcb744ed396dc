"""Files of other programs that are not what they say: classes 19 and 20 of bad input."""

import io
import json
import struct

import numpy as np
import pytest

import opforge as torch


# 19 Malformed .npy and .npz files


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


GOOD = npy(np.arange(6, dtype=np.float32).reshape(2, 3))

MALFORMED_NPY = {
    "objects": npy(np.array([{}, None], dtype=object)),
    "texts": npy(np.array(["a", "b"])),
    "short data": GOOD[:-1],
    "no data": GOOD[:128],
    "half a header": GOOD[:40],
    "no version": GOOD[:6],
    "a version of the future": GOOD[:6] + b"\x09\x00" + GOOD[8:],
    "a header that is no dict": GOOD.replace(b"{'descr'", b"['descr'"),
    "a negative length": GOOD.replace(b"(2, 3)", b"(-2,3)"),
    "more elements than there are": GOOD.replace(b"(2, 3)", b"(2, 9)"),
}


@pytest.mark.parametrize("name", MALFORMED_NPY)
def test_malformed_npy(tmp_path, name):
    path = tmp_path / "x.npy"
    path.write_bytes(MALFORMED_NPY[name])
    for read in (lambda: torch.load(path), lambda: torch.load(path, mmap=True), lambda: torch.load(path.open("rb"))):
        with pytest.raises(torch.FormatError):
            read()


def test_malformed_npz(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.ones(3), b=np.array([None], dtype=object))
    with pytest.raises(torch.FormatError, match="b"):
        torch.load(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(torch.FormatError):
        torch.load(path)


def test_numpy_files_of_other_orders_are_converted(tmp_path):
    path = tmp_path / "x.npy"
    array = np.arange(6, dtype=">f4").reshape(2, 3)
    for given in (array, np.asfortranarray(array)):
        np.save(path, given)
        for mmap in (False, True):
            assert np.array_equal(torch.load(path, mmap=mmap).numpy(), array)
    np.savez(tmp_path / "x.npz", a=array, b=np.int64(3))
    loaded = torch.load(tmp_path / "x.npz")
    assert np.array_equal(loaded["a"].numpy(), array) and loaded["b"].item() == 3


# 20 Malformed safetensors files


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BROKEN = {
    "empty": b"",
    "short": b"\x01\x02",
    "header longer than the file": struct.pack("<Q", 2**40) + b"{}",
    "no json": safetensors(b"{nonsense"),
    "not an object": safetensors([1, 2]),
    "short data": safetensors({"x": F32}, b"\0" * 4),
    "offsets out of order": safetensors({"x": {**F32, "data_offsets": [8, 0]}}, b"\0" * 8),
    "negative offsets": safetensors({"x": {**F32, "data_offsets": [-8, 0]}}, b"\0" * 8),
    "wrong size": safetensors({"x": {**F32, "shape": [3]}}, b"\0" * 8),
    "overflowing shape": safetensors({"x": {**F32, "shape": [2**33, 2**33]}}, b"\0" * 8),
    "negative shape": safetensors({"x": {**F32, "shape": [-2]}}, b"\0" * 8),
    "overlap": safetensors({"x": F32, "y": {**F32, "data_offsets": [4, 12]}}, b"\0" * 12),
    "hole": safetensors({"x": F32, "y": {**F32, "data_offsets": [12, 20]}}, b"\0" * 20),
    "unknown dtype": safetensors({"x": {**F32, "dtype": "F31"}}, b"\0" * 8),
    "same name twice": safetensors(b'{"x":' + json.dumps(F32).encode() + b',"x":' + json.dumps(F32).encode() + b"}", b"\0" * 8),
}


@pytest.mark.parametrize("name", BROKEN)
def test_malformed_safetensors(tmp_path, name):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(BROKEN[name])
    with pytest.raises((torch.FormatError, ValueError)) as raised:
        torch.load(path)
    assert len(str(raised.value)) > 10


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError):
        torch.load("/nowhere/at/all.safetensors")
