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


@pytest.mark.parametrize("method", [1, 9, 12, 14, 93, 99])
def test_npz_of_other_compressions(tmp_path, method):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.ones(3))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x03\x04") + 8] = data[data.index(b"PK\x01\x02") + 10] = method
    path.write_bytes(data)
    with pytest.raises(torch.FormatError, match="accepted: arrays that are stored or deflated"):
        torch.load(path)


def test_encrypted_npz(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.ones(3))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(torch.FormatError, match="not encrypted"):
        torch.load(path)


@pytest.mark.parametrize("format", ["npy", "npz", "safetensors"])
def test_a_file_may_be_truncated_after_it_was_loaded(tmp_path, format):
    path = tmp_path / f"x.{format}"
    if format == "safetensors":
        torch.save({"a": torch.ones(1000)}, path)
    else:
        {"npy": np.save, "npz": np.savez}[format](path, np.ones(1000))
    loaded = torch.load(path)
    path.write_bytes(b"")
    tensor = loaded if format == "npy" else next(iter(loaded.values()))
    assert tensor.sum().item() == 1000


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


# Files that were damaged at random: more of them than here are read by crates/opforge/tests/fuzz_files.rs, this is for what Python adds.


def damaged(data, generator):
    data = bytearray(data)
    for _ in range(generator.integers(1, 5)):
        at = int(generator.integers(len(data) or 1))
        match generator.integers(5):
            case 0 if data:
                data[at] ^= 1 << int(generator.integers(8))
            case 1:
                del data[at:]
            case 2:
                del data[at : at + int(generator.integers(32))]
            case 3:
                data[at:at] = data[: int(generator.integers(200))]
            case _:
                # Another number in the header.
                digits = [i for i in range(min(len(data), 800)) if chr(data[i]).isdigit()]
                if digits:
                    i = digits[at % len(digits)]
                    data[i : i + 1] = [b"", b"0", b"-1", b"18446744073709551615", b"1e9", b"[", b"null"][at % 7]
    return bytes(data)


def test_damaged_files_give_errors_or_tensors(tmp_path):
    tree = {
        "a": torch.arange(6.0).reshape(2, 3),
        "b": [torch.ones(2, dtype=torch.bool), (1, 2.5, None, "text", float("nan"))],
        ("key",): {torch.zeros(3).T, 7},
        "view": torch.arange(10)[2:5],
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "meta": torch.empty(2, 3, device="meta"),
    }
    buffer = io.BytesIO()
    torch.save(tree, buffer)
    archive = io.BytesIO()
    np.savez(archive, a=np.ones(3), b=np.arange(4, dtype=">i2"))
    generator = np.random.default_rng(1)
    read = 0
    for _ in range(400):
        for name, good in (("x.safetensors", buffer.getvalue()), ("x.npy", GOOD), ("x.npz", archive.getvalue())):
            path = tmp_path / name
            path.write_bytes(damaged(good, generator))
            for load in (lambda: torch.load(path), lambda: torch.load(path, mmap=True), lambda: torch.load(path.open("rb"))):
                try:
                    loaded = load()
                    repr(loaded)
                    read += 1
                except (torch.FormatError, torch.DTypeError, MemoryError):
                    pass
    assert read > 0
