"""`opforge new-op`: begins an operator from a template."""

from __future__ import annotations

import importlib.resources
import json
import keyword
import pathlib
import re
import string

from . import UsageError

_DESCRIPTION = """Writes a kernel with its gradient, and its tests: a reference in numpy, gradients, and a search for defects. Both work as they are."""

# Of each language: what is written where, and the templates that the files are made of. A test loads the kernel as another template says.
_FILES = {
    "cc": ({"$name.cc": "kernel.cc", "test_$name.py": "test_kernel.py"}, "load_source.py"),
    "c": ({"$name.c": "kernel.c", "test_$name.py": "test_kernel.py"}, "load_source.py"),
    "cu": ({"$name.cu": "kernel.cu", "test_$name.py": "test_cuda.py"}, "load_source.py"),
    "rust": (
        {"$name/Cargo.toml": "Cargo.toml", "$name/src/lib.rs": "lib.rs", "$name/test_$name.py": "test_kernel.py"},
        "load_rust.py",
    ),
}


def add_to(commands) -> None:
    """The command's arguments."""
    parser = commands.add_parser("new-op", help="begin an operator from a template", description=_DESCRIPTION)
    parser.add_argument("name", help="of the operator, such as FusedAdd or fused_add")
    parser.add_argument("--lang", choices=list(_FILES), default="cc", help="the kernel's language, cc (C++) unless given")
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path(), help="where to write, here unless given")
    parser.set_defaults(run=run)


def run(args) -> int:
    """Writes the files, and says what can be done with them."""
    words = names(args.name)
    written = write(words, args.lang, args.directory)
    test = next(path for path in written if path.name.startswith("test_"))
    for path in written:
        print(f"wrote {path}")
    print(f"next: pytest {test}")
    if args.lang != "cu":
        print(f"      opforge check {test}:{words['name']}")
    return 0


def names(name):
    """What templates call the operator: `Name` as kernels are called, `name` as Python's functions are."""
    if not name.isascii() or not name.isidentifier():
        raise UsageError(f"{name!r} is no name: letters, digits and underscores are accepted, a letter first")
    parts = [part for part in re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_") if part]
    snake = "_".join(parts)
    if not snake.isidentifier() or keyword.iskeyword(snake):
        raise UsageError(f"{name!r} cannot be the name of a function in Python")
    return {"Name": "".join(part.capitalize() for part in parts), "name": snake}


def write(words, lang, directory):
    """Writes the files of an operator, none of which may be there already. Gives their paths."""
    files, load = _FILES[lang]
    paths = {directory / string.Template(path).substitute(words): template for path, template in files.items()}
    for path in paths:
        if path.exists():
            raise UsageError(f"{path} is there already")
    words = {**words, "file": next(iter(paths)).name, "test": f"test_{words['name']}.py", "kernel_crate": _kernel_crate()}
    words["imports"] = "import subprocess\nimport sys\n" if lang == "rust" else ""
    words["load"] = _filled(load, words).strip()
    for path, template in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(template, words), encoding="utf-8")
    return list(paths)


def _kernel_crate():
    """Where Cargo finds opforge-kernel: in the source tree that opforge runs from, or else among published crates."""
    from .. import __version__

    tree = pathlib.Path(__file__).parents[3] / "crates" / "opforge-kernel"
    return f"{{ path = {json.dumps(str(tree))} }}" if tree.is_dir() else f'"{__version__}"'


def _filled(template, words):
    text = (importlib.resources.files(__package__) / "templates" / template).read_text(encoding="utf-8")
    return string.Template(text).substitute(words)
