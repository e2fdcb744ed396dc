"""Runs the scripts of tests/python/mindspore/scripts with MindSpore and with opforge, and compares every number that they give.

    python tests/compare_mindspore.py path/to/python    # an interpreter that has mindspore (`make compare-mindspore` makes one)

Each compiles the kernels for itself, from the same files. Exits with 1 if a result differs, or if opforge cannot do what MindSpore can.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import runpy
import shutil
import subprocess
import sys
import tempfile
import timeit

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE / "python" / "mindspore"
HEADERS = HERE.parent / "crates" / "opforge-custom" / "include"
TOLERANCE = 2e-5
CALLS = 2000


def main(interpreter: str) -> int:
    """Runs both, prints a line for each case, and returns the exit status."""
    theirs, ours = (_run(python, face) for python, face in ((interpreter, "mindspore"), (sys.executable, "opforge.mindspore")))
    names = sorted(theirs["cases"])
    verdicts = [_verdict(theirs["cases"][name], ours["cases"][name]) for name in names]
    for name, verdict in zip(names, verdicts):
        print(f"{name:45} {verdict}")
    wrong = sum(verdict.startswith("WRONG") for verdict in verdicts)
    print(f"\n{len(names)} cases: {verdicts.count('same')} the same, {wrong} wrong; the others only opforge can do")
    print(f"a call of the add of 4 floats: MindSpore {theirs['call'] * 1e6:.2f} us, opforge {ours['call'] * 1e6:.2f} us")
    return min(wrong, 1)


def _run(python, face) -> dict:
    """What `_results` gives in a process of its own, for copies of the scripts; MindSpore needs the headers beside the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
        shutil.copytree(HEADERS, pathlib.Path(folder) / "kernels", dirs_exist_ok=True)
        results = pathlib.Path(folder) / "results"
        subprocess.run([python, __file__, "--run", face, results], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return pickle.loads(results.read_bytes())


def _results(face) -> dict:
    """Each case's arrays, or the text of its error; and the seconds that a call takes. Runs in the folder of the copies."""
    scripts = runpy.run_path("translate.py")
    translate = scripts["translated"] if face == "opforge.mindspore" else str
    found = {
        f"{path.stem} {name}": _result(case) for path in scripts["SCRIPTS"] for name, case in scripts["cases"](path, translate).items()
    }
    return {"cases": found, "call": _seconds(translate)}


def _result(case):
    try:
        results, _ = case()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return [result.asnumpy() for result in (results if isinstance(results, list) else [results])]


def _seconds(translate) -> float:
    """The time of a call of the C++ add of 4 floats."""
    namespace = {"KERNEL": "./kernels/add.cc"}
    program = """
import mindspore as ms
from mindspore import ops
op = ops.Custom(KERNEL + ":Add", lambda x, _: x, lambda x, _: x, "aot")
x = ms.Tensor([1.0, 2.0, 3.0, 4.0])
"""
    exec(translate(program), namespace)
    return min(timeit.repeat("op(x, x)", globals=namespace, number=CALLS, repeat=5)) / CALLS


def _verdict(theirs, ours) -> str:
    import numpy as np

    if isinstance(theirs, str):
        return f"WRONG: both fail: {_line(ours)}" if isinstance(ours, str) else f"MindSpore fails: {_line(theirs)}"
    if isinstance(ours, str):
        return f"WRONG: opforge fails: {_line(ours)}"
    for i, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if (their.dtype, their.shape) != (our.dtype, our.shape):
            return f"WRONG: result {i} is {our.dtype}{list(our.shape)}, MindSpore's {their.dtype}{list(their.shape)}"
        if not np.allclose(their, our, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            return f"WRONG: result {i} differs by {np.abs(their - our).max():.2g}"
    return "same"


def _line(text) -> str:
    return " ".join(text.split())[:100]


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        pathlib.Path(sys.argv[3]).write_bytes(pickle.dumps(_results(sys.argv[2])))
        # MindSpore's threads may end the process with an error after the work is done.
        os._exit(0)
    sys.exit(main(sys.argv[1]))
