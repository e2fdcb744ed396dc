"""Writes the checkpoints beside this file with PyTorch itself: `python make.py` where it is installed. `test_pytorch_files.py` reads them."""

import collections
import pathlib

import torch

FOLDER = pathlib.Path(__file__).parent


def content():
    base = torch.arange(6, dtype=torch.float32)
    state = collections.OrderedDict(weight=base.reshape(2, 3), bias=base[1:3])
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    return {
        "model": state,
        "parameter": torch.nn.Parameter(torch.tensor([1.5, -2.0]), requires_grad=False),
        "dtypes": {str(dtype): torch.tensor([[0, 1], [1, 1]]).to(dtype).T for dtype in DTYPES},
        "epoch": 3,
        "big": 2**80,
        "losses": [0.5, float("inf")],
        "betas": (0.9, 0.999),
        "text": "quotes \" and \u2603",
        "bytes": b"\x00\xff",
        "flags": [True, None, False],
        "set": {1, 2},
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "complex": 1 - 2j,
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(7),
        "counts": collections.Counter("aab"),
    }


DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
    torch.complex128, torch.uint16, torch.uint32, torch.uint64,
]  # fmt: skip


def bits():
    """Views whose memory holds other numbers than they show."""
    z = torch.tensor([1 + 2j, 3 - 1j])
    return {"conj": z.conj(), "neg": torch._neg_view(torch.tensor([1.0, -2.0])), "both": torch._neg_view(z.conj()), "plain": z}


def attributes():
    """Tensors with attributes of the program's."""
    parameter, tensor = torch.nn.Parameter(torch.ones(2)), torch.ones(1)
    parameter.tag, tensor.note = 3, "x"
    return {"parameter": parameter, "tensor": tensor, "buffer": torch.nn.Buffer(torch.zeros(2))}


if __name__ == "__main__":
    torch.save(content(), FOLDER / "zip.pt")
    torch.save(content(), FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"f": torch.nn.functional.relu, "m": torch.nn.Linear(1, 1)}, FOLDER / "module.pt")
    torch.save(bits(), FOLDER / "bits.pt")
    torch.save(attributes(), FOLDER / "attributes.pt")
