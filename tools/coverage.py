"""The table of PyTorch's names, in Markdown: which of them opforge has, and how."""

from __future__ import annotations

import functools
import importlib
import pathlib
import tomllib
import types

import opforge
import probe
from opforge import _core
from reference import dtypes as in_words

NAMES = pathlib.Path(__file__).with_name("pytorch_names.toml")
INTRODUCTION = """\
# Coverage

<!-- Written by `make generate` from the declared functions and `tools/pytorch_names.toml`; do not edit. -->

The names of PyTorch's reference, list by list, and what opforge has of them.

- **dtypes**: those in which a sample call of the function (`tests/python/cases`) succeeds. Where arguments are of several kinds, those of the
  numbers that are computed with, not of masks, classes and positions.
- **gradient**: whether the results of such a call have one.
- **made of**: `operator`, with an entry in the registry and a kernel or a view of its own; `composition` of operators, in `functional/`; `alias`,
  another name of one of these; `package`, written by hand in the extension module or in Python.
"""
# Where a list's names are, and the face under which the catalogue knows them.
FACES = {"torch": "torch", "Tensor": "method", "fft": "fft", "linalg": "linalg", "special": "special", "nn.functional": "nn"}


def names() -> dict:
    return tomllib.loads(NAMES.read_text())


def place(module: str) -> types.ModuleType | type:
    """What has a list's names as its attributes."""
    if module == "Tensor":
        return opforge.Tensor
    return opforge if module == "torch" else importlib.import_module(f"opforge.{module}")


def is_there(module: str, name: str) -> bool:
    return hasattr(place(module), name)


@functools.cache
def declared() -> dict[tuple[str, str], list[dict]]:
    """The declared functions by face and Python name."""
    found: dict[tuple[str, str], list[dict]] = {}
    for function in _core.catalogue():
        for face in function["faces"]:
            found.setdefault((face, function["python_name"]), []).append(function)
    return found


def functions(module: str, name: str) -> list[dict]:
    """The declared functions behind a public name; of `relu_`, those of `relu`."""
    face = FACES[module]
    in_place = "inplace" if module == "nn.functional" else "in_place"
    return declared().get((face, name)) or declared().get((in_place, name.removesuffix("_")), [])


def made_of(module: str, name: str) -> str:
    found = functions(module, name)
    if not found:
        return "package"
    if any(function["operator"] for function in found):
        return "operator"
    return "alias" if all(function["family"] == "aliases" for function in found) else "composition"


def row(module: str, name: str, why: str) -> str:
    if not is_there(module, name):
        return f"| {name} | no: {why} | | |"
    found = functions(module, name)
    known = {dtype for function in found for dtype in probe.dtypes(function["name"])}
    kinds = in_words([dtype for dtype in probe.DTYPES if dtype in known]) or "-"
    gradient = "yes" if any(probe.gradient(function["name"]) for function in found) else "no" if found else "-"
    return f"| {name} | {made_of(module, name)} | {kinds} | {gradient} |"


def reasons() -> dict[str, str]:
    """Why a name is left out, by its full name."""
    return {name: why for why, listed in names()["left_out"].items() for name in listed.split()}


def coverage() -> str:
    why, sections, summary = reasons(), [], []
    for entry in names()["list"]:
        module, listed = entry["module"], entry["names"].split()
        present = [name for name in listed if is_there(module, name)]
        rows = [row(module, name, why.get(f"{module}.{name}", "not yet")) for name in listed]
        sections.append("\n".join([f"## {entry['title']}", "", "| name | made of | dtypes | gradient |", "|---|---|---|---|", *rows]))
        summary.append((entry["title"], len(listed), len(present), [made_of(module, name) for name in present]))
    return "\n\n".join([INTRODUCTION.rstrip(), table(summary), *sections]) + "\n"


def table(summary: list[tuple[str, int, int, list[str]]]) -> str:
    """The counts, list by list and in all."""
    total = ("**all**", sum(s[1] for s in summary), sum(s[2] for s in summary), [kind for s in summary for kind in s[3]])
    kinds = ("operator", "composition", "alias", "package")
    lines = ["| list | names | present | " + " | ".join(kinds) + " |", "|---|" + "---:|" * (2 + len(kinds))]
    for title, listed, present, made in [*summary, total]:
        lines.append(f"| {title} | {listed} | {present} | " + " | ".join(str(made.count(kind)) for kind in kinds) + " |")
    return "\n".join(lines)
