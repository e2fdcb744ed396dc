"""Runs scripts written for MindSpore on opforge: their import lines are changed, nothing else."""

import pathlib
import re

SCRIPTS = sorted((pathlib.Path(__file__).parent / "scripts").glob("*.py"))
_IMPORT = re.compile(r"^(\s*(?:from|import)\s+)mindspore\b", re.MULTILINE)


def translated(text: str) -> str:
    """The script with `import opforge.mindspore` in place of `import mindspore`."""
    return _IMPORT.sub(r"\1opforge.mindspore", text)


def cases(path: pathlib.Path, translate=translated) -> dict:
    """The functions `case_*` of a script, by name; each returns results and what is expected of them."""
    namespace = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(translate(path.read_text()), path, "exec"), namespace)
    return {name[5:]: value for name, value in namespace.items() if name.startswith("case_")}
