"""Tensors that are stored and loaded."""

import collections
import io
import json
import math
import os
import struct

import numpy as np
import pytest

import opforge as torch

from saving import DTYPES, equal, through_file


# Files


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_stored(dtype):
    tensor = torch.tensor([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    for source in [tensor, tensor.T, tensor[1:, 0], tensor[0, 0], tensor[:0]]:
        assert equal(through_file(source), source)


def test_containers_and_values_of_all_kinds():
    tree = {
        "model": collections.OrderedDict([("w", torch.tensor([1.0, 2.0])), ("b", torch.tensor(3))]),
        "optimizer": {"state": {0: {"step": 3, "exp_avg": torch.tensor([0.5])}, 1: {}}, "param_groups": [{"lr": 1e-3, "params": [0, 1]}]},
        "epoch": 3,
        "big": 2**80,
        "loss": [0.1, float("inf"), -float("inf"), float("nan"), 1e-320],
        "betas": (0.9, 0.999),
        "names": {"a", "b"},
        "frozen": frozenset([1, 2]),
        "milestones": collections.Counter({3: 1, 5: 2}),
        "nothing": None,
        "flag": True,
        "text": 'quotes " and \\ and \u2603',
        "bytes": b"\x00\xff",
        "complex": 1 - 2j,
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "size": torch.Size([2, 3]),
        (1, "tuple"): "as a key",
        None: [],
        1.5: {},
    }
    back = through_file(tree)
    assert equal(back, tree)


def test_numbers_of_numpy_become_pythons():
    back = through_file({"best": np.float64(0.25), "epoch": np.int32(3), "done": np.bool_(True)})
    assert back == {"best": 0.25, "epoch": 3, "done": True} and type(back["best"]) is float and type(back["epoch"]) is int


def test_requires_grad_is_kept():
    back = through_file({"w": torch.tensor([1.0], requires_grad=True), "c": torch.tensor([1.0])})
    assert back["w"].requires_grad and back["w"].is_leaf and not back["c"].requires_grad
    computed = torch.tensor([1.0], requires_grad=True) * 2
    assert through_file(computed).tolist() == [2.0]


def test_shared_memory_stays_shared():
    base = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    tree = {"tied": [base, base.detach()], "part": base[2:4], "grid": base.reshape(2, 3).T, "other": torch.tensor([1.0])}
    back = through_file(tree)
    assert equal(back, tree)
    back["tied"][0].add_(1)
    assert back["tied"][1].tolist() == [1, 2, 3, 4, 5, 6] and back["part"].tolist() == [3, 4]
    assert back["grid"].tolist() == [[1, 4], [2, 5], [3, 6]] and back["other"].tolist() == [1.0]


def test_a_small_view_does_not_store_the_whole(tmp_path):
    large = torch.tensor(np.zeros(1_000_000, np.float32))
    torch.save({"row": large[500_000:500_010]}, tmp_path / "a")
    torch.save({"row": large[500_000:500_010], "next": large[500_005:500_015]}, tmp_path / "b")
    assert os.path.getsize(tmp_path / "a") < 1000 and os.path.getsize(tmp_path / "b") < 1000
    back = torch.load(tmp_path / "b")
    back["row"].add_(1)
    assert back["next"].tolist() == [1.0] * 5 + [0.0] * 5


def test_memory_shared_under_two_dtypes(tmp_path):
    floats = torch.tensor([1.0, 2.0, 3.0])
    ints = torch._core._rebuild_tensor(torch.Tensor, floats.untyped_storage(), torch.int32, 1, (2,), (1,))
    odd = torch.tensor([True, False, True])
    torch.save({"odd": odd, "floats": floats, "ints": ints}, tmp_path / "file")
    for mmap in [False, True]:
        back = torch.load(tmp_path / "file", mmap=mmap)
        assert back["floats"].tolist() == [1.0, 2.0, 3.0] and back["ints"].tolist() == ints.tolist()
        assert back["floats"].untyped_storage() is back["ints"].untyped_storage()


def test_a_dict_of_tensors_is_a_plain_safetensors_file(tmp_path):
    path = tmp_path / "model.safetensors"
    tree = {"b": torch.tensor([1, 2]), "a": torch.tensor([[0.5, 1.5]])}
    torch.save(tree, path)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert set(header) == {"a", "b", "__metadata__"}
    start, end = header["a"]["data_offsets"]
    assert header["a"]["dtype"] == "F32" and header["a"]["shape"] == [1, 2]
    assert np.frombuffer(data[8 + length :][start:end], np.float32).tolist() == [0.5, 1.5]
    assert list(torch.load(path)) == ["b", "a"]


def test_files_of_other_programs(tmp_path):
    path = tmp_path / "other.safetensors"
    path.write_bytes(safetensors({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, struct.pack("<2f", 1, 2)))
    loaded = torch.load(path)
    assert list(loaded) == ["x"] and loaded["x"].tolist() == [1.0, 2.0]
    assert loaded["x"].add_(1).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_what_is_written_to_mapped_tensors_stays_in_the_process(tmp_path, suffix):
    path = tmp_path / f"file.{suffix}"
    torch.save({"x": torch.tensor([1.0, 2.0])}, path)
    before = path.read_bytes()
    mapped, other = (torch.load(path, mmap=True)["x"] for _ in range(2))
    mapped.add_(1)
    assert (mapped.tolist(), other.tolist()) == ([2.0, 3.0], [1.0, 2.0]) and path.read_bytes() == before
    torch.save({"x": torch.tensor([7.0, 8.0])}, path)
    assert other.tolist() == [1.0, 2.0] and torch.load(path)["x"].tolist() == [7.0, 8.0]


def test_modules_of_mapped_tensors_are_trained(tmp_path):
    path, module = tmp_path / "file.pt", torch.nn.Linear(2, 1)
    torch.save(module.state_dict(), path)
    module.load_state_dict(torch.load(path, mmap=True), assign=True)
    module(torch.ones(1, 2)).sum().backward()
    torch.optim.SGD(module.parameters(), lr=1.0).step()
    assert torch.allclose(module.weight, torch.load(path)["weight"] - 1)


def test_only_files_are_mapped():
    with pytest.raises(ValueError, match="path"):
        torch.load(io.BytesIO(), mmap=True)


def test_map_location():
    tree = {"x": torch.tensor([1.0])}
    for location in ["cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage]:
        assert equal(through_file(tree, map_location=location), tree)
    assert through_file(tree, map_location="meta")["x"].is_meta
    with pytest.raises(ValueError):
        through_file(tree, map_location="cuda")


def test_a_failed_save_loses_nothing(tmp_path):
    path = tmp_path / "file"
    torch.save({"x": torch.tensor([1.0])}, path)
    before = path.read_bytes()

    class Unpicklable:
        def __reduce__(self):
            raise ValueError("not this one")

    for wrong, options in [({"x": object()}, {}), (Unpicklable(), {"pickle": True})]:
        with pytest.raises((TypeError, ValueError)):
            torch.save(wrong, path, **options)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["file"]
    for missing in [tmp_path / "no" / "file", str(tmp_path / "no" / "file")]:
        with pytest.raises(FileNotFoundError):
            torch.save({}, missing)
        with pytest.raises(FileNotFoundError):
            torch.load(missing)


class Custom:
    def __eq__(self, other):
        return type(other) is Custom


@pytest.mark.parametrize(
    ("obj", "place"),
    [
        (Custom(), r"obj is a Custom"),
        ({"a": [1, Custom()]}, r"obj\['a'\]\[1\] is a Custom"),
        ({"f": len}, r"obj\['f'\] is a builtin_function"),
        ({"a": np.ones(2)}, r"obj\['a'\] is a ndarray"),
        (range(3), "obj is a range"),
    ],
)
def test_objects_without_a_safe_form_are_named(obj, place):
    with pytest.raises(TypeError, match=place):
        torch.save(obj, io.BytesIO())


def test_a_container_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        torch.save(loop, io.BytesIO())


def test_pickles_are_read_when_asked_for_by_name(tmp_path):
    path = tmp_path / "pickle"
    torch.save({"x": torch.tensor([1.0]), "c": Custom()}, path, pickle=True)
    for options in [{}, {"weights_only": False}, {"weights_only": True}]:
        with pytest.raises(torch.FormatError, match="unpickle=True"):
            torch.load(path, **options)
        with pytest.raises(torch.FormatError, match="unpickle=True"):
            torch.load(io.BytesIO(path.read_bytes()), **options)
    back = torch.load(path, unpickle=True)
    assert back["x"].tolist() == [1.0] and back["c"] == Custom()
    assert torch.load(io.BytesIO(path.read_bytes()), unpickle=True)["c"] == Custom()


# Malformed files


def safetensors(header, data=b""):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


def entry(**changes):
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes


EIGHT = bytes(8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"short",
        b"PK\x03\x04" + bytes(30),
        b"\x80\x02}q\x00",
        b"\x93NUMPY\x01\x00",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100) + b"{}",
        safetensors(b"{"),
        safetensors(b"[]"),
        safetensors(b"null"),
        safetensors(b'{"x": 3}'),
        safetensors(b"\xff\xfe"),
        safetensors({"x": entry()}),
        safetensors({"x": entry()}, bytes(7)),
        safetensors({"x": entry()}, bytes(9)),
        safetensors({"x": entry(data_offsets=[8, 0])}, EIGHT),
        safetensors({"x": entry(data_offsets=[0, 4])}, EIGHT),
        safetensors({"x": entry(data_offsets=[4, 12])}, bytes(12)),
        safetensors({"x": entry(data_offsets=[-8, 0])}, EIGHT),
        safetensors({"x": entry(shape=[3])}, EIGHT),
        safetensors({"x": entry(shape=[-2])}, EIGHT),
        safetensors({"x": entry(shape=[2**62, 2**62])}, EIGHT),
        safetensors({"x": entry(shape=[2**32, 2**32, 0], data_offsets=[0, 0])}),
        safetensors({"x": entry(dtype="F33")}, EIGHT),
        safetensors({"x": entry(), "y": entry()}, EIGHT),
        safetensors({"x": entry(), "y": entry(data_offsets=[12, 20])}, bytes(20)),
        safetensors(b'{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        safetensors({"__metadata__": {"a": 1}}),
    ],
)
def test_malformed_files_are_refused(data, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(data)
    for load in [lambda: torch.load(path), lambda: torch.load(io.BytesIO(data)), lambda: torch.load(path, mmap=True)]:
        with pytest.raises(torch.FormatError):
            load()


@pytest.mark.parametrize(
    "tree",
    [
        "{",
        "[" * 100_000,
        '{"tensor": "y"}',
        '{"tensor": 3}',
        '{"tensor": "x", "view": ["float32", 1, [2], [1]]}',
        '{"tensor": "x", "view": ["float32", -1, [2], [1]]}',
        '{"tensor": "x", "view": ["float64", 0, [2], [1]]}',
        '{"tensor": "x", "view": ["float32", 0, [4611686018427387904, 4], [1, 1]]}',
        '{"tensor": "x", "view": ["save", 0, [2], [1]]}',
        '{"tensor": "x", "view": [1]}',
        '{"unknown": 1}',
        "{}",
        '{"dict": [[1, 2, 3]]}',
        '{"dict": [[[1], 2]]}',
        '{"dict": 3}',
        '{"tuple": 3}',
        '{"float": "x"}',
        '{"bytes": "\\u2603"}',
        '{"dtype": "Tensor"}',
        '{"device": "abacus"}',
        '{"meta": ["float32", [-1]]}',
        '{"meta": ["float32", [4611686018427387904, 4611686018427387904]]}',
    ],
)
def test_descriptions_that_lie_are_refused(tree):
    data = safetensors({"__metadata__": {"opforge": tree}, "x": entry()}, EIGHT)
    with pytest.raises(torch.FormatError):
        torch.load(io.BytesIO(data))


def test_files_that_are_no_files():
    for wrong in [None, 3, b"bytes"]:
        with pytest.raises(TypeError):
            torch.load(wrong)
    with pytest.raises(TypeError, match="binary"):
        torch.load(io.StringIO("text"))


def test_nan_survives():
    assert math.isnan(through_file([float("nan")])[0]) and math.isnan(through_file(torch.tensor([float("nan")])).item())
