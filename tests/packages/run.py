"""Runs a package's cases in this process and writes their results to a file: the package's version, then for each case a pair of its name and its
arrays, or the text of its error.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pathlib
import pickle
import sys
import traceback
import warnings

# The folder of cases must not stand for the packages that its files are named after.
sys.path[:] = [folder for folder in sys.path if pathlib.Path(folder or ".").resolve() != pathlib.Path(__file__).resolve().parent]


def main(package: str, results: str) -> None:
    """Runs the cases of `cases/<package>.py`."""
    warnings.simplefilter("ignore")
    sys.path.append(str(pathlib.Path(__file__).parent))
    with open(results, "wb", buffering=0) as file:
        module = importlib.import_module(f"cases.{package}")
        file.write(pickle.dumps(importlib.metadata.version(module.PACKAGE)))
        for name, case in module.CASES.items():
            file.write(pickle.dumps((name, _result(case))))


def _result(case):
    """A case's arrays, or the text of its error with the place where it was raised."""
    try:
        return case()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} ({pathlib.Path(where.filename).name}:{where.lineno})"


if __name__ == "__main__":
    main(*sys.argv[1:])
