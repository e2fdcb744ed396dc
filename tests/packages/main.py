"""Runs PyTorch's packages, unmodified, on PyTorch and on opforge, compares what they give, and writes docs/packages.md.

    python tests/packages/main.py path/to/python [package ..]     # an interpreter that has PyTorch and the packages (`make compare-packages` makes one)

Each file of `cases` is a package with its cases. A case gives arrays: outputs, and gradients of all parameters, of a model with given weights for given
inputs. It runs in a process with PyTorch and in one where `import torch` means opforge. With names of packages, only these, and nothing is written.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import agreement

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Seconds that a package's cases may take, on either side.
LIMIT = 900


def main(interpreter: str, wanted: list[str]) -> int:
    """Runs the packages, prints a line for each case, and returns 1 if one differs."""
    found = {}
    for path in sorted((HERE / "cases").glob("[!_]*.py")):
        if not wanted or path.stem in wanted:
            found[path.stem] = _compared(interpreter, path.stem)
            for name, verdict in found[path.stem]["cases"].items():
                print(f"{path.stem:20} {name:40} {verdict}", flush=True)
    if not wanted:
        (ROOT / "docs" / "packages.md").write_text(agreement.document(found))
    verdicts = [verdict for package in found.values() for verdict in package["cases"].values()]
    same = sum(verdict.is_same for verdict in verdicts)
    print(f"\n{len(verdicts)} cases: {same} the same")
    return int(any(verdict.is_wrong for verdict in verdicts))


def _compared(interpreter, package) -> dict:
    """A package's version, and the verdict on each of its cases. Raises RuntimeError if PyTorch runs none of them."""
    theirs, ours = (_run(interpreter, package, launcher) for launcher in ([], ["-m", "opforge", "run"]))
    if not theirs["cases"]:
        raise RuntimeError(f"{package}: no case ran on PyTorch: {theirs['end']}")
    cases = {name: agreement.verdict(theirs["cases"][name], ours["cases"].get(name, ours["end"])) for name in theirs["cases"]}
    return {"version": theirs["version"], "cases": cases}


def _run(interpreter, package, launcher) -> dict:
    """What run.py writes for a package: its version, and results by the names of cases."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results"
        python_path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
        command = [interpreter, *launcher, str(HERE / "run.py"), package, str(results)]
        environment = {**os.environ, "PYTHONPATH": python_path, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        found = {"version": "", "cases": {}, "end": f"the process ended with {done.returncode}: {done.stderr[-300:]}"}
        if results.exists():
            found["version"], *cases = _unpickled(results)
            found["cases"] = dict(cases)
        return found


def _unpickled(path) -> list:
    """The objects of a file, which may end early: the version, then the cases."""
    objects = []
    with path.open("rb") as file:
        with contextlib.suppress(EOFError):
            while True:
                objects.append(pickle.load(file))
    return objects or [""]


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
