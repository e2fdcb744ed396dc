"""What `opforge` shows and what it keeps to itself."""

import pickle
import subprocess
import sys

import opforge as torch
from opforge import _core

PRIVATE = {
    "SavedTensor",
    "at_the_end_of_backward",
    "backward",
    "bench_operator",
    "catalogue",
    "check_operator",
    "grad",
    "record_function",
    "schema_parameters",
    "set_grad_mode",
    "set_package_folder",
    "set_size_class",
}


def test_private_names_stay_in_the_core():
    shown = set(dir(torch))
    hidden = {f["python_name"] for f in _core.catalogue() if f["faces"] == ["hidden"]}
    declared = {f["python_name"] for f in _core.catalogue() if "torch" in f["faces"]}
    assert not shown & PRIVATE
    assert not shown & (hidden - declared)
    assert declared <= shown


def test_every_face_is_there():
    places = {"torch": torch, "nn": _core.nn, "linalg": torch.linalg, "special": torch.special, "method": torch.Tensor}
    missing = [
        (face, f["python_name"])
        for f in _core.catalogue()
        for face in f["faces"]
        if face in places and not callable(getattr(places[face], f["python_name"], None))
    ]
    assert not missing
    assert not [f["python_name"] for f in _core.catalogue() if f["in_place"] and not hasattr(torch.Tensor, f["python_name"] + "_")]


def test_every_function_is_documented():
    assert not [f["name"] for f in _core.catalogue() if not f["doc"]]
    assert not [f["name"] for f in _core.catalogue() if "```" in f["doc"] or "[`" in f["doc"]]


def test_dtypes_and_devices_are_pickled():
    for value in (torch.float32, torch.bool, torch.device("cpu")):
        copy = pickle.loads(pickle.dumps(value))
        assert copy == value
    assert pickle.loads(pickle.dumps(torch.int8)) is torch.int8


def test_import_is_quick_and_needs_nothing():
    code = "import sys, opforge; print(sorted(m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy', 'torch')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_functions_named_as_their_submodules_stay_functions():
    code = """if True:
        from opforge.nn.utils.weight_norm import WeightNorm
        from opforge.autograd.gradcheck import gradgradcheck
        import opforge, opforge.as_torch, torch
        from torch.nn.utils.spectral_norm import SpectralNorm
        from torch.autograd.gradcheck import gradcheck
        for function in (torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm, torch.autograd.gradcheck, opforge.autograd.gradcheck):
            assert type(function).__name__ == "function", function
        assert torch.autograd.gradcheck is gradcheck
    """
    subprocess.run([sys.executable, "-c", code], check=True)
