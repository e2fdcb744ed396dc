"""Prints what tests, demo and examples need, one requirement a line, from where it is declared: pyproject.toml."""

import pathlib
import tomllib

project = tomllib.loads((pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
print("\n".join(sum(project["optional-dependencies"].values(), [])))
