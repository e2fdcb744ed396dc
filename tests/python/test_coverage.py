"""The names of PyTorch's reference that opforge has: the lists behind docs/coverage.md."""

import importlib
import pathlib
import tomllib

import opforge as torch

TABLE = tomllib.loads((pathlib.Path(__file__).parents[2] / "tools/pytorch_names.toml").read_text())
LISTED = [(entry["module"], name) for entry in TABLE["list"] for name in entry["names"].split()]
LEFT_OUT = [tuple(name.rsplit(".", 1)) for listed in TABLE["left_out"].values() for name in listed.split()]
PLACES = {"torch": torch, "Tensor": torch.Tensor} | {
    module: importlib.import_module(f"opforge.{module}") for module in ("fft", "linalg", "special", "nn.functional")
}


def is_there(module, name):
    return callable(getattr(PLACES[module], name, None))


def test_at_least_420_names_are_there():
    assert len(LISTED) == len(set(LISTED))
    assert len({name for module, name in LISTED if is_there(module, name)}) >= 420


def test_what_is_left_out_is_listed_and_missing():
    assert not [full for full in LEFT_OUT if full not in LISTED]
    assert not [full for full in LEFT_OUT if is_there(*full)]
