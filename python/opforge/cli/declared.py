"""From command lines to declared operators."""

from __future__ import annotations

import ast
import importlib.util
import pathlib

from . import UsageError

_SOURCE = """path:Name: a kernel in a library or source file, or a custom operator in a Python file. What the kernel does not declare itself, with
OPFORGE_SCHEMA, is given by the options below."""


def add_arguments(parser) -> None:
    """The operator, and what is to be declared of it."""
    parser.add_argument("source", help=_SOURCE)
    group = parser.add_argument_group("declaration")
    group.add_argument("--schema", help='such as "(Tensor x, Tensor y, *, int axis=0) -> Tensor"')
    group.add_argument("--attr", action="append", default=[], metavar="NAME=VALUE", help="an attribute; again for further ones")
    group.add_argument("--like", type=int, metavar="INPUT", help="the outputs have the shape of this input, counted from 0")
    group.add_argument("--output-dtypes", metavar="DTYPE[,DTYPE]", help="of the outputs; else the kernel's InferType tells, or input 0")
    group.add_argument("--gradient", metavar="PATH:NAME", help="another operator, of inputs, outputs and the outputs' gradients")
    group.add_argument("--flags", default="", help="further arguments of the compiler, separated by spaces")
    group.add_argument("--include", action="append", default=[], metavar="DIR", help="a folder of headers; again for further ones")


def add_inputs(parser) -> None:
    """Which inputs to use."""
    group = parser.add_argument_group("inputs")
    shapes = 'one for each input, or one for all, such as "4x5,5x3" ("scalar" has no dimension); again for further sets'
    group.add_argument("--shapes", action="append", type=shapes_of, metavar="SHAPE[,SHAPE]", help=shapes)
    dtypes = "one for each input, or one for all, such as float32; again for further sets"
    group.add_argument("--dtypes", action="append", type=dtypes_of, metavar="DTYPE[,DTYPE]", help=dtypes)
    group.add_argument("--ranks", type=numbers_of, metavar="N[,N]", help="of the shapes that are tried where none are given")


def load(args, *, isolate):
    """The operator that the arguments name and declare."""
    if args.source.rpartition(":")[0].endswith(".py"):
        return of_python(args.source, _is_operator, "a custom operator")
    from ..custom import custom_op

    options = {
        "schema": args.schema,
        "attributes": dict(attribute_of(text) for text in args.attr),
        "shapes": args.like,
        "dtypes": tuple(dtypes_of(args.output_dtypes)) if args.output_dtypes else None,
        "flags": args.flags.split(),
        "include": args.include,
        "isolate": isolate,
    }
    if args.gradient:
        options["gradient"] = custom_op(args.gradient, shapes=0, isolate=isolate, flags=options["flags"], include=args.include)
    return custom_op(args.source, **{name: value for name, value in options.items() if value is not None})


def _is_operator(value) -> bool:
    from ..custom import CustomOp

    return isinstance(value, CustomOp)


def of_python(source, accepts, what):
    """The object of a Python file that `path:name` names."""
    path, _, name = source.rpartition(":")
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None or not pathlib.Path(path).is_file():
        raise UsageError(f"{source}: there is no Python file {path!r}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [known for known, value in vars(module).items() if accepts(value) and not known.startswith("_")]
    if not hasattr(module, name) or not accepts(getattr(module, name)):
        raise UsageError(f"{source}: {path} has no {what} of this name (there are: {', '.join(found) or 'none'})")
    return getattr(module, name)


def attribute_of(text):
    """`axis=1` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--attr {text}: NAME=VALUE is accepted")
    literals = {"true": True, "false": False}
    try:
        return name, literals.get(value.lower()) if value.lower() in literals else ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def shapes_of(text):
    """`4x5,scalar` as shapes."""
    return [[] if shape == "scalar" else [int(length) for length in shape.split("x")] for shape in text.split(",")]


def dtypes_of(text):
    """`float32,int64` as dtypes."""
    from .. import _core

    def one(name):
        found = getattr(_core, name.strip(), None)
        if not isinstance(found, _core.dtype):
            raise ValueError(name)
        return found

    return [one(name) for name in text.split(",")]


def numbers_of(text):
    """`1,2` as numbers."""
    return [int(number) for number in text.split(",")]
