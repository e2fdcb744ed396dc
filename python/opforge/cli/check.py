"""`opforge check`: looks for defects in an operator."""

from __future__ import annotations

import shlex

from . import declared

_DESCRIPTION = """Tries an operator in processes of its own, on shapes and dtypes of all kinds, and tells of accesses outside its arguments, writes into
inputs, elements that are never written, uninitialised memory, races, leaks, crashes, wrong inference, gradients and results. Exits with 0 if
it finds nothing, 1 if it finds a defect, 2 for wrong use."""


def add_to(commands) -> None:
    """The command's arguments."""
    parser = commands.add_parser("check", help="look for defects in an operator", description=_DESCRIPTION)
    declared.add_arguments(parser)
    declared.add_inputs(parser)
    group = parser.add_argument_group("check")
    group.add_argument("--reference", metavar="PATH:NAME", help="a function of numpy arrays in a Python file: what the operator should compute")
    group.add_argument("--tolerance", type=float, help="how far results may be from the reference's, as a part of the largest")
    group.add_argument("--sanitize", action="store_true", help="compile it once more with AddressSanitizer and UndefinedBehaviorSanitizer")
    group.add_argument("--huge", action="store_true", help="try more than 2^31 elements too, if there is memory for them")
    group.add_argument("--range", type=_range, metavar="LOW:HIGH", help="of the inputs' elements, -2:2 unless given")
    group.add_argument("--timeout", type=float, metavar="SECONDS", help="the limit of a call, 5 unless given")
    group.add_argument("--case", type=int, metavar="N", help="try this case alone")
    group.add_argument("--seed", type=int, metavar="N", help="of the inputs' elements, 1 unless given")
    parser.set_defaults(run=run)


def _range(text):
    low, high = text.split(":")
    return float(low), float(high)


def run(args) -> int:
    """Checks, and prints the report."""
    from ..custom import check

    options = {name: getattr(args, name) for name in ("shapes", "dtypes", "ranks", "tolerance", "range", "timeout", "case", "seed")}
    given = {name: value for name, value in options.items() if value is not None}
    if args.reference:
        given["reference"] = declared.of_python(args.reference, callable, "function")
    report = check(declared.load(args, isolate=True), sanitize=args.sanitize, huge=args.huge, command=_command(args.argv), **given)
    print(report)
    return 0 if report.ok else 1


def _command(argv) -> str:
    """The command line without what picks a case."""
    kept, skip = [], False
    for word in argv:
        if not skip and not word.startswith(("--case=", "--seed=")) and word not in ("--case", "--seed"):
            kept.append(word)
        skip = word in ("--case", "--seed")
    return shlex.join(["opforge", *kept])
