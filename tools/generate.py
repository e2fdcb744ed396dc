"""Writes the files that are made from the declared functions: type stubs, the reference, the catalogue, coverage.

`python tools/generate.py` writes them; with `--check` it only tells, by its exit status, whether they are as they should be. It asks the
installed `opforge`, so build that first.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import sys

import opforge
from coverage import coverage
from namespaces import facade_stub, package_stub
from opforge import _core
from reference import reference
from stubs import core_stub, submodule_stub

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = "python/opforge"
# Modules of the package that show a submodule of the core's.
FACADES = {"nn.functional": "nn", "fft": "fft", "linalg": "linalg", "special": "special"}


def generated() -> dict[str, str]:
    """The files' contents, by path."""
    functions = _core.catalogue()
    files = {
        f"{PACKAGE}/py.typed": "",
        f"{PACKAGE}/__init__.pyi": package_stub(opforge),
        f"{PACKAGE}/_core/__init__.pyi": core_stub(_core, functions),
        "docs/functions.md": reference(functions),
        "docs/coverage.md": coverage(),
        "docs/catalogue.json": "[\n" + ",\n".join(map(json.dumps, functions)) + "\n]\n",
    }
    for name, place in FACADES.items():
        files[f"{PACKAGE}/_core/{place}.pyi"] = submodule_stub(getattr(_core, place), functions, place)
        path = f"{PACKAGE}/{name.replace('.', '/')}"
        if (ROOT / f"{path}.py").exists():
            module = importlib.import_module(f"opforge.{name}")
            files[f"{path}.pyi"] = facade_stub(module, getattr(_core, place))
    return files


def main() -> int:
    stale = []
    for path, text in generated().items():
        file = ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    if "--check" in sys.argv and stale:
        print("These files do not go with the declared functions; run `make generate` and commit them:", *stale, sep="\n  ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
