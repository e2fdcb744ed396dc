"""`import torch` means opforge: programs and packages that the tests write, run in processes of their own."""

import subprocess
import sys

import pytest


def run(tmp_path, program, *arguments, files=None, python=()):
    """What a program prints, beside modules of these names and texts."""
    for name, text in (files or {}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = tmp_path / "program.py"
    script.write_text(program)
    done = subprocess.run([sys.executable, *python, str(script), *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PACKAGE = {
    "packaged/__init__.py": "from .layers import Scale\nimport torch\nassert torch.__version__ >= '2.9'\n",
    "packaged/layers.py": """
import torch, torch.nn.functional as F
from torch import nn, Tensor
from torch.nn.modules.utils import _pair
from torch.utils.data import DataLoader

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2,), 3.0))
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x * self.weight)
""",
}


def test_a_package_that_imports_torch_is_given_opforge(tmp_path):
    program = """
import opforge.as_torch
import packaged, torch, opforge
layer = packaged.Scale()
layer(torch.tensor([1.0, 2.0])).sum().backward()
assert isinstance(layer, opforge.nn.Module)
print(*layer.weight.grad.tolist())
"""
    assert run(tmp_path, program, files=PACKAGE) == ["1.0", "2.0"]


@pytest.mark.parametrize("launcher", [["-m", "opforge"], ["-m", "opforge", "run"]])
def test_the_command_runs_a_program_as_it_is(tmp_path, launcher):
    program = "import sys, torch, packaged\nif __name__ == '__main__': print(torch.ones(2).sum().item(), *sys.argv[1:])"
    assert run(tmp_path, program, "-x", "run", files=PACKAGE, python=launcher) == ["2.0", "-x", "run"]


def test_the_command_runs_a_module(tmp_path):
    program = "import sys, torch; print(torch.__name__, *sys.argv[1:])"
    (tmp_path / "module.py").write_text(program)
    command = [sys.executable, "-m", "opforge", "run", "-m", "module", "y"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["torch", "y"], done.stderr


@pytest.mark.parametrize("line, error", [("open('none')", "FileNotFoundError"), ("opforge.ones(2) @ opforge.ones(3)", "opforge.ShapeError")])
def test_errors_of_a_program_are_its_own(tmp_path, line, error):
    program = tmp_path / "program.py"
    program.write_text(f"import opforge\n{line}\n")
    done = subprocess.run([sys.executable, "-m", "opforge", "run", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" in done.stderr and 'program.py", line 2' in done.stderr and error in done.stderr, done.stderr


def test_modules_are_opforges_and_run_once(tmp_path):
    program = """
import opforge.as_torch, opforge, sys
import torch, torch.nn, torch.optim.lr_scheduler, torch.utils.data.dataset, torch.jit
import opforge.optim.lr_scheduler
assert torch.nn is opforge.nn and sys.modules["torch.nn"] is opforge.nn
assert torch.optim.lr_scheduler is opforge.optim.lr_scheduler
assert opforge.nn.__name__ == opforge.nn.__spec__.name == "opforge.nn" and torch.__spec__.name == "torch"
assert torch.torch is torch and torch.Tensor is opforge.Tensor and torch.no_grad is opforge.no_grad and torch.jit is opforge.jit
opforge.as_torch.install()
print(sum(type(finder).__name__ == "TorchFinder" for finder in sys.meta_path))
"""
    assert run(tmp_path, program) == ["1"]


def test_versions(tmp_path):
    program = """
import opforge.as_torch, importlib.metadata, importlib.util
assert importlib.util.find_spec("torch").name == "torch"
import torch, opforge
assert importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__ == "2.15.0+opforge"
assert torch.__version__ > "2.9" and torch.__version__ >= (2, 15) and not torch.__version__ < "2.15.0" and torch.__version__ < "2.16.0.dev1"
assert importlib.util.find_spec("torch").name == "torch" and "torch" in importlib.metadata.packages_distributions()
assert (torch.version.cuda, torch.version.hip) == (None, None) and opforge.__version__ == opforge.version.opforge != torch.__version__
print(importlib.metadata.distribution("torch").metadata["Name"])
"""
    assert run(tmp_path, program) == ["torch"]


def test_what_is_missing_is_said_to_be_opforges_lack(tmp_path):
    program = """
import opforge.as_torch
def message(code):
    try: exec(code)
    except (ImportError, AttributeError) as error: return f"{type(error).__name__}:{'opforge' in str(error)}"
for code in ("import torch.nothing", "from torch import nothing", "import torch; torch.nothing", "from torch.nn import nothing",
             "import torch.nn.nothing", "import torch; torch.nn.nothing"):
    print(message(code))
"""
    missing, imported, attribute = "ModuleNotFoundError:True", "ImportError:True", "AttributeError:True"
    assert run(tmp_path, program) == [missing, imported, attribute, imported, missing, attribute]


def test_pytorch_that_was_imported_first_is_an_error(tmp_path):
    program = """
import torch
try: import opforge.as_torch
except ImportError as error: print(type(error).__name__, "before" in str(error))
"""
    assert run(tmp_path, program, files={"torch.py": "ones = None"}) == ["TorchImportedError", "True"]


def test_opforge_wins_over_a_pytorch_that_is_installed(tmp_path):
    files = {"torch/__init__.py": "raise SystemExit('the wrong one')", "torch-2.0.dist-info/METADATA": "Name: torch\nVersion: 2.0\n"}
    program = "import opforge.as_torch, torch, importlib.metadata; print(torch.ones(1).item(), importlib.metadata.version('torch'))"
    assert run(tmp_path, program, files=files) == ["1.0", "2.15.0+opforge"]


def test_keywords_of_pytorch_are_taken(tmp_path):
    program = """
import opforge.as_torch, torch
x = torch.arange(120.0).reshape(2, 3, 4, 5)
last = x.contiguous(memory_format=torch.channels_last)
assert last.stride() == (60, 1, 15, 3) and last.equal(x) and last.is_contiguous(memory_format=torch.channels_last)
assert not x.is_contiguous(memory_format=torch.channels_last) and x.contiguous(memory_format=torch.contiguous_format) is x
assert x.to(torch.float64, memory_format=torch.channels_last).stride() == (60, 1, 15, 3) and last.clone(memory_format=torch.contiguous_format).is_contiguous()
assert torch.empty_like(x, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
assert torch.zeros(2, layout=torch.strided, pin_memory=False, names=None).tolist() == [0, 0] and x.new_ones((1,), layout=torch.strided).item() == 1
assert x.type() == "torch.FloatTensor" and x.type("torch.LongTensor").dtype is torch.int64 and x.type(torch.DoubleTensor).dtype is torch.float64
assert torch.finfo(torch.float8_e4m3fn).max == 448 and torch.finfo(torch.float8_e4m3fnuz).max == 240
assert torch.finfo(torch.float32).bits == torch.finfo().bits == 32
assert [t.shape for t in torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")] == [(3, 2), (3, 2)]
def refused(function):
    try: function()
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error: return type(error).__name__
print(refused(lambda: torch.zeros(2, layout=torch.sparse_coo)), refused(lambda: torch.zeros(2, names=("N",))),
      refused(lambda: torch.ones(2).contiguous(memory_format=torch.channels_last)), refused(lambda: x.type("torch.NoTensor")),
      refused(lambda: torch.zeros(2, dtype=torch.float8_e5m2fnuz)))
"""
    assert run(tmp_path, program) == ["NotImplementedError", "NotImplementedError", "RuntimeError", "ValueError", "TypeError"]


def test_modules_that_packages_read_whole_are_whole(tmp_path):
    program = "import opforge.as_torch, torch.distributions; print('Normal' in vars(torch.distributions), torch.torch is torch)"
    assert run(tmp_path, program) == ["True", "True"]


def test_layouts_have_the_texts_that_programs_compare(tmp_path):
    program = "import opforge.as_torch, torch; print(torch.eye(2).to_sparse().layout, torch.strided)"
    assert run(tmp_path, program) == ["torch.sparse_coo", "torch.strided"]


def test_functions_that_make_tensors_take_all_of_pytorchs_keywords(tmp_path):
    program = """
import opforge.as_torch
import torch
options = dict(dtype=torch.float64, layout=torch.strided, device="cpu", requires_grad=True, pin_memory=False)
open("memory", "wb").write(bytes(64))
found = [getattr(torch, f"{name}_window")(4, **options) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")]
found += [torch.scalar_tensor(1, **options), torch.empty_permuted((2, 3), (1, 0), **options), torch.from_file("memory", False, 8, **options)]
found += [torch.fft.fftfreq(4, **options), torch.fft.rfftfreq(4, **options)]
assert all(x.dtype is torch.float64 and x.requires_grad for x in found)
assert torch.ones(2, dtype=torch.int64).type(torch.Tensor).dtype is torch.float32
print("made")
"""
    assert run(tmp_path, program) == ["made"]


def test_functions_that_pytorch_writes_in_python_take_attributes(tmp_path):
    program = """
import opforge.as_torch
import torch, torch.nn.functional as F
x = torch.tensor([-1.0, 2.0], requires_grad=True)
F.relu.mark = F.sigmoid.mark = 3
y = F.relu(x) + F.leaky_relu(x, 0.5, inplace=False)
y.sum().backward()
print(F.relu.mark, F.relu.__name__, *y.tolist(), *x.grad.tolist())
"""
    assert run(tmp_path, program) == ["3", "relu", "-0.5", "4.0", "0.5", "2.0"]
