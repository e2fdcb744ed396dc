"""`opforge bench`: times an operator."""

from __future__ import annotations

from . import declared

_DESCRIPTION = """Times an operator over sizes, beside opforge's own copy of as many bytes in the same process: no kernel that reads and writes all of its
arguments is much faster than that."""


def add_to(commands) -> None:
    """The command's arguments."""
    parser = commands.add_parser("bench", help="time an operator", description=_DESCRIPTION)
    declared.add_arguments(parser)
    declared.add_inputs(parser)
    parser.add_argument("--duration", type=float, metavar="SECONDS", help="of each line, 0.15 unless given")
    parser.set_defaults(run=run)


def run(args) -> int:
    """Times, and prints the table."""
    from .. import _core

    options = {"shapes": args.shapes, "dtypes": args.dtypes and args.dtypes[0], "ranks": args.ranks, "duration": args.duration}
    given = {name: value for name, value in options.items() if value is not None}
    table, _ = _core.bench_operator(declared.load(args, isolate=False), **given)
    print(table)
    return 0
