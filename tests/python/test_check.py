"""`opforge check`, `opforge new-op` and `opforge bench`."""

import pathlib
import shlex
import subprocess
import sys

import numpy
import pytest

import opforge as torch

REPOSITORY = pathlib.Path(__file__).parents[2]
KERNELS = REPOSITORY / "crates" / "opforge-custom" / "tests" / "kernels"


def opforge(*args, **options):
    """Runs the command; gives its exit status and what it printed."""
    done = subprocess.run([sys.executable, "-m", "opforge", *map(str, args)], capture_output=True, text=True, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


DEFECTS = {
    "Overrun": "over-run",
    "Underrun": "under-run",
    "InputWrite": "input-write",
    "Unwritten": "unwritten",
    "Uninitialised": "uninitialised",
    "Leak": "leak",
    "LargeCrash": "crash",
}


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


@pytest.mark.parametrize("name", DEFECTS)
def test_the_command_names_defects(name):
    source = KERNELS / "defects" / f"{snake(name)}.cc"
    status, text = opforge("check", f"{source}:{name}", "--like", 0)
    assert status == 1, text
    assert f"FAIL  {DEFECTS[name]}: " in text and "1 kind of defect in 12 cases" in text

    again = next(line.split("again: ")[1] for line in text.splitlines() if "again: " in line)
    status, text = opforge(*shlex.split(again)[1:])
    assert status == 1 and f"FAIL  {DEFECTS[name]}: " in text and "1 case," in text


def test_the_command_passes_correct_kernels():
    status, text = opforge("check", f"{KERNELS}/correct/moments.cc:Moments")
    assert status == 0 and "no defect in 12 cases" in text, text
    status, text = opforge("check", f"{KERNELS}/correct/reduce_sum.cc:ReduceSum", "--attr", "axis=-1", "--attr", "keep_dim=true")
    assert status == 0 and "axis=-1" in text, text
    shapes = ["--shapes", "4x5,5x3", "--shapes", "1x1"]
    status, text = opforge("check", f"{KERNELS}/correct/matmul.cc:Matmul", *shapes)
    assert status == 0 and "2 cases" in text, text
    cube = f"{KERNELS}/correct/cube.cc"
    gradient = ["--gradient", f"{cube}:CubeGradient", "--dtypes", "float64"]
    status, text = opforge("check", f"{cube}:Cube", "--like", 0, *gradient)
    assert status == 0 and "gradient" in text.split("  -  ")[0], text


def test_wrong_use_is_told_from_defects(tmp_path):
    add = f"{KERNELS}/correct/add.cc"
    for args, part in [
        (["check"], "usage"),
        (["check", f"{add}:Add", "--shapes", "4y5"], "invalid"),
        (["check", f"{add}:Add", "--like", 0, "--case", 99], "1 to 12"),
        (["check", f"{add}:Add", "--attr", "axis"], "NAME=VALUE"),
        (["check", f"{tmp_path}/ops.py:add"], "there is no Python file"),
        (["new-op", "no name"], "is no name"),
        (["bench", f"{KERNELS}/correct/reduce_sum.cc:ReduceSum"], "axis"),
    ]:
        status, text = opforge(*args)
        assert status == 2 and part in text, (args, text)
    for args, part in [
        (["check", f"{tmp_path}/none.cc:F"], "none.cc"),
        (["check", f"{add}:Add"], "has no shape for its outputs"),
        (["check", f"{add}:Ad"], "did you mean Add"),
    ]:
        status, text = opforge(*args)
        assert status == 1 and part in text, (args, text)


OPERATORS = f'''
import numpy, opforge

square = opforge.custom_op("{KERNELS}/defects/wrong_gradient.cc:Square", shapes=0)
square.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
wrong = opforge.custom_op("{KERNELS}/defects/wrong_gradient.cc:Square", shapes=0)
wrong.register_autograd(lambda ctx, g: ctx.saved_tensors[0] * g)

def reference(x):
    return x * x
'''


def test_operators_of_python_files_are_checked(tmp_path):
    file = tmp_path / "ops.py"
    file.write_text(OPERATORS)
    reference = ["--reference", f"{file}:reference"]
    status, text = opforge("check", f"{file}:square", *reference)
    assert status == 0 and "reference" in text.split("  -  ")[0], text
    status, text = opforge("check", f"{file}:wrong", *reference)
    assert status == 1 and "FAIL  gradient: with respect to x[" in text, text
    status, text = opforge("check", f"{file}:cube")
    assert status == 2 and "there are: square, wrong" in text, text


def test_the_function_gives_findings():
    report = torch.check(f"{KERNELS}/defects/unwritten.cc:Unwritten", declare={"shapes": 0}, shapes=[[(2, 3)], [(8,)]])
    assert not report.ok and str(report) == report.text
    [finding] = report.findings
    assert (finding.probe, finding.case, finding.inputs) == ("unwritten", 1, "x float32[2, 3]")
    assert "output 0[1, 1] is never written (2 of 6 elements)" in finding.message
    with pytest.raises(TypeError, match="shape"):
        torch.check(f"{KERNELS}/correct/total.cc:Total", shape=[[(2, 3)]])


def test_references_are_functions_of_arrays():
    scale = torch.custom_op(f"{KERNELS}/correct/scale.c:Scale", shapes=0, attributes={"alpha": 3.0})
    assert torch.check(scale, reference=lambda x, alpha, beta: alpha * x + beta).ok
    [finding, *_] = torch.check(scale, reference=lambda x, alpha, beta: alpha * x).findings
    assert finding.probe == "reference" and "the reference's is" in finding.message
    total = torch.custom_op(f"{KERNELS}/correct/total.cc:Total")
    assert torch.check(total, reference=lambda x: numpy.sum(x, dtype=numpy.float64), tolerance=1e-4).ok
    assert torch.check(total, reference=lambda x: x).findings[0].message.startswith("output 0 has shape []")


def run_tests(test):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("lang", ["cc", "c"])
def test_new_operators_work_as_they_are(lang, tmp_path):
    status, text = opforge("new-op", "FusedScale", "--lang", lang, "--directory", tmp_path)
    assert status == 0 and "opforge check" in text, text
    assert "3 passed" in run_tests(tmp_path / "test_fused_scale.py")
    status, text = opforge("check", f"{tmp_path}/fused_scale.{lang}:FusedScale")
    assert status == 0, text
    status, text = opforge("new-op", "fused_scale", "--lang", lang, "--directory", tmp_path)
    assert status == 2 and "is there already" in text


def test_new_operators_in_rust_work_as_they_are(tmp_path):
    status, text = opforge("new-op", "FusedScale", "--lang", "rust", "--directory", tmp_path)
    assert status == 0, text
    # The versions that the rest of the tests were built with.
    (tmp_path / "fused_scale" / "Cargo.lock").write_bytes((REPOSITORY / "Cargo.lock").read_bytes())
    assert "3 passed" in run_tests(tmp_path / "fused_scale" / "test_fused_scale.py")


def test_new_operators_in_cuda_compile(tmp_path):
    status, text = opforge("new-op", "fused_scale", "--lang", "cu", "--directory", tmp_path)
    assert status == 0, text
    assert "1 passed, 2 skipped" in run_tests(tmp_path / "test_fused_scale.py")


def test_operators_are_timed():
    shapes = ["--shapes", "16", "--shapes", "1024"]
    status, text = opforge("bench", f"{KERNELS}/correct/add.cc:Add", "--like", 0, "--duration", 0.01, *shapes)
    assert status == 0 and "x float32[1024], y float32[1024]" in text and "of the floor" in text, text
    assert len(text.splitlines()) == 4
