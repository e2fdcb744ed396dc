"""Checkpoints of PyTorch's: read as it wrote them (`files/make.py`), and written so that they come back."""

import collections
import io
import os
import pathlib
import pickle
import zipfile

import numpy as np
import pytest

import opforge as torch
from saving import DTYPES, equal

FILES = pathlib.Path(__file__).parent / "files"


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
@pytest.mark.parametrize("mmap", [False, True])
def test_pytorch_s_files(name, mmap):
    read = torch.load(FILES / name, mmap=mmap)
    model = read["model"]
    assert type(model) is collections.OrderedDict and list(model) == ["weight", "bias"]
    assert model["weight"].tolist() == [[0, 1, 2], [3, 4, 5]] and model["bias"].tolist() == [1, 2]
    assert model._metadata == {"": {"version": 1}}
    assert model["weight"].untyped_storage() is model["bias"].untyped_storage()
    assert type(read["parameter"]) is torch.nn.Parameter and read["parameter"].tolist() == [1.5, -2.0] and not read["parameter"].requires_grad
    for dtype, tensor in read["dtypes"].items():
        assert str(tensor.dtype) == dtype.replace("torch", "opforge") and tensor.stride() == (1, 2)
        assert tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).tolist() == [[0, 1], [1, 1]]
    assert read["epoch"] == 3 and read["big"] == 2**80 and read["losses"] == [0.5, float("inf")] and read["betas"] == (0.9, 0.999)
    assert read["text"] == 'quotes " and \u2603' and read["bytes"] == b"\x00\xff" and read["flags"] == [True, None, False] and read["set"] == {1, 2}
    assert read["size"] == torch.Size([2, 3]) and type(read["size"]) is torch.Size and read["dtype"] is torch.bfloat16
    assert read["device"] == torch.device("cpu") and read["complex"] == 1 - 2j and read["empty"].shape == (0, 3)
    assert read["scalar"].item() == 7 and read["scalar"].shape == () and read["counts"] == collections.Counter("aab")


def test_views_that_show_other_numbers_than_their_memory():
    """The bits of conjugates and negatives were not read: the numbers were those in memory."""
    read = torch.load(FILES / "bits.pt")
    assert read["plain"].tolist() == [1 + 2j, 3 - 1j] and read["conj"].tolist() == [1 - 2j, 3 + 1j]
    assert read["neg"].tolist() == [-1.0, 2.0] and read["both"].tolist() == [-1 + 2j, -3 - 1j]


def test_tensors_with_attributes_are_read_without_them():
    read = torch.load(FILES / "attributes.pt")
    assert type(read["parameter"]) is torch.nn.Parameter and read["parameter"].tolist() == [1.0, 1.0] and not hasattr(read["parameter"], "tag")
    assert read["tensor"].tolist() == [1.0] and read["buffer"].tolist() == [0.0, 0.0]


def test_functions_that_rebuild_tensors_are_not_nested():
    """A list that is an argument of itself was followed until the stack was full."""
    function, itself = b"ctorch._tensor\n_rebuild_from_type_v2\n", b"h\x00"
    data = b"\x80\x02]q\x00(" + function + b"ctorch\nTensor\n" + itself + b"}e0" + function + itself + b"R."
    with pytest.raises(torch.FormatError, match="not executed"):
        torch.load(io.BytesIO(data))


def test_files_are_read_from_memory():
    data = (FILES / "zip.pt").read_bytes()
    assert torch.load(io.BytesIO(data))["epoch"] == 3


def test_what_a_file_would_have_executed_is_named():
    with pytest.raises(torch.FormatError, match="torch.nn.functional.relu|torch.nn.modules.linear.Linear"):
        torch.load(FILES / "module.pt")

    class Harm:
        def __reduce__(self):
            return os.system, ("exit 3",)

    with pytest.raises(torch.FormatError, match="system, which is not executed"):
        torch.load(io.BytesIO(pickle.dumps({"x": Harm()}, protocol=2)))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_pickles(protocol):
    shared = [1, 2.5, -(2**70), "text", b"bytes", None, True]
    tree = {"a": shared, "again": shared, "t": (1, 2, 3, 4), "s": {1}, "f": frozenset([2]), "o": collections.OrderedDict(x=1), "long": "x" * 300}
    read = torch.load(io.BytesIO(pickle.dumps(tree, protocol)))
    assert read == tree and read["a"] is read["again"]
    loop = []
    loop.append(loop)
    read = torch.load(io.BytesIO(pickle.dumps(loop, protocol)))
    assert read[0] is read


def through(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, _use_new_zipfile_serialization=True)
    return torch.load(io.BytesIO(buffer.getvalue()), **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    tensor = torch.tensor([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    for source in [tensor, tensor.T, tensor[1:, 0], tensor[0, 0], tensor[:0]]:
        assert equal(through(source), source)


def test_containers_come_back():
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    tree = {
        "model": module.state_dict(),
        "optimizer": torch.optim.Adam(module.parameters()).state_dict(),
        "p": module[0].weight,
        "n": [1, -5, 2**40, 2**80, -(2**80), 0.1, float("nan"), 1j, None, True],
        "np": np.float64(0.5),
        (1, "tuple"): b"\x00\xff",
        "set": {"a"},
        "frozen": frozenset([1]),
        "size": torch.Size([2]),
        "dtype": torch.uint16,
        "device": torch.device("cpu"),
        "meta": torch.empty(2, 3, device="meta"),
    }
    read = through(tree)
    assert equal({k: v for k, v in read.items() if k != "meta"}, {k: v for k, v in tree.items() if k != "meta"} | {"np": 0.5})
    assert type(read["p"]) is torch.nn.Parameter and read["p"].requires_grad
    assert read["meta"].is_meta and read["meta"].shape == (2, 3) and read["model"]._metadata == tree["model"]._metadata


@pytest.mark.parametrize("protocol", range(2, 5))
def test_arrays_and_scalars_of_numpy_are_read(protocol):
    tree = {
        "a": np.arange(6.0).reshape(2, 3),
        "turned": np.arange(6, dtype=np.int32).reshape(2, 3).T,
        "big": np.array([1, 2], dtype=">i4"),
        "none": np.zeros((0, 2), np.float32),
        "point": np.array(3 + 1j),
        "bool": np.array([True, False]),
        "best": np.float64(0.25),
        "epoch": np.int64(3),
    }
    read = torch.load(io.BytesIO(pickle.dumps(tree, protocol)))
    for name, wanted in tree.items():
        assert type(read[name]) is type(wanted) and read[name].dtype == wanted.dtype
        np.testing.assert_array_equal(read[name], wanted)
    read["a"][0, 0] = 7.0
    for wrong in (np.array(["text"]), np.array([object()], dtype=object)):
        with pytest.raises(torch.FormatError, match="accepted: numbers"):
            torch.load(io.BytesIO(pickle.dumps(wrong, protocol)))


def test_arrays_of_numpy_come_back():
    state = np.random.RandomState(0).get_state()
    read = through({"state": state, "x": np.ones((2, 2), np.float32)})
    np.testing.assert_array_equal(read["state"][1], state[1])
    assert read["state"][0] == "MT19937" and read["x"].dtype == np.float32 and read["x"].shape == (2, 2)
    with pytest.raises(TypeError, match="ndarray"):
        through({"x": np.array(["text"])})


def test_names_of_files_say_how_they_are_written(tmp_path):
    tree = {"x": torch.tensor([1.0, 2.0])}
    for name in ["a.pt", "a.pth", "a.bin", "a.ckpt"]:
        torch.save(tree, tmp_path / name)
        assert zipfile.is_zipfile(tmp_path / name)
        for mmap in [False, True]:
            assert torch.load(tmp_path / name, mmap=mmap)["x"].tolist() == [1.0, 2.0]
    torch.save(tree, tmp_path / "a.safetensors")
    assert not zipfile.is_zipfile(tmp_path / "a.safetensors")
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        assert {"a/data.pkl", "a/byteorder", "a/data/0", "a/version"} <= set(archive.namelist())
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())


def test_compressed_archives_are_read(tmp_path):
    with zipfile.ZipFile(FILES / "zip.pt") as source, zipfile.ZipFile(tmp_path / "small.pt", "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert torch.load(tmp_path / "small.pt")["model"]["bias"].tolist() == [1, 2]


def test_shared_memory_stays_shared_and_small(tmp_path):
    large = torch.zeros(1_000_000)
    torch.save({"row": large[500_000:500_010], "next": large[500_005:500_015]}, tmp_path / "b.pt")
    assert os.path.getsize(tmp_path / "b.pt") < 2000
    back = torch.load(tmp_path / "b.pt")
    back["row"].add_(1)
    assert back["next"].tolist() == [1.0] * 5 + [0.0] * 5


def test_objects_without_a_form_are_named():
    for obj, place in [({"a": [1, object()]}, r"obj\['a'\]\[1\] is a object"), (range(3), "obj is a range")]:
        with pytest.raises(TypeError, match=place):
            torch.save(obj, io.BytesIO(), _use_new_zipfile_serialization=True)
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        torch.save(loop, io.BytesIO(), _use_new_zipfile_serialization=True)


def test_truncated_files_are_errors():
    for name in ["zip.pt", "legacy.pt"]:
        data = (FILES / name).read_bytes()
        for length in range(0, len(data), 97):
            with pytest.raises((torch.FormatError, RuntimeError, ValueError)):
                torch.load(io.BytesIO(data[:length]))
